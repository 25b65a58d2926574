/** A name or an e-mail address that cannot be stored as such. */
export class InvalidAccount extends Error {
  override readonly name = 'InvalidAccount'
}

/** One address, without a display name, line breaks or anything else that could alter a mail's header. */
export function isEmail(text: string): boolean {
  return text.length <= 254 && /^[^\s@<>(),;:"[\]\\]+@[^\s@<>(),;:"[\]\\]+$/.test(text)
}

/** Throws {@link InvalidAccount} where the text is no e-mail address. */
export function requireEmail(text: string): void {
  if (!isEmail(text)) throw new InvalidAccount(`${JSON.stringify(text)} is not an e-mail address`)
}
