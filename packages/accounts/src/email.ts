/** A name or an e-mail address that cannot be stored as such. */
export class InvalidAccount extends Error {
  override readonly name = 'InvalidAccount'
}

/**
 * Returns the one form in which an e-mail address is stored and compared: its ASCII letters in lower case. Two addresses are the
 * same person if and only if their forms are equal, and mail goes to that form.
 *
 * Returns undefined if the text is not one address, without a display name, line breaks or anything else that could alter a
 * mail's header. So it is if the address is not ASCII: lower-casing makes ASCII letters of some others, such as the Kelvin sign.
 */
export function normalEmail(text: string): string | undefined {
  const isAddress = text.length <= 254 && /^[!-~]+$/.test(text) && /^[^@<>(),;:"[\]\\]+@[^@<>(),;:"[\]\\]+$/.test(text)
  return isAddress ? text.toLowerCase() : undefined
}

/** Returns the normal form of an e-mail address. Throws {@link InvalidAccount} if the text is none. */
export function requireEmail(text: string): string {
  const email = normalEmail(text)
  if (email === undefined) throw new InvalidAccount(`${JSON.stringify(text)} is not an e-mail address in ASCII`)
  return email
}
