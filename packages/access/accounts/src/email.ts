/** The name or the e-mail address of an account is not valid. */
export class InvalidAccount extends Error {
  override readonly name = 'InvalidAccount'
}

/**
 * Returns the normal form of an e-mail address, with its letters in lower case (design.md §3, E-mail addresses).
 * Addresses are stored, compared and mailed in this form. Two addresses are the same person if and only if their normal
 * forms are equal.
 *
 * Returns undefined unless the text is exactly one address. Display names, line breaks and similar texts could alter a
 * mail's header. Addresses must be ASCII, since lower-casing maps some other letters to ASCII, for example the Kelvin
 * sign.
 *
 * @example
 * ```ts
 * normalEmail('Ann@Example.com') // → "ann@example.com"
 * normalEmail('Ann <ann@example.com>') // → undefined
 * ```
 */
export function normalEmail(text: string): string | undefined {
  const isAddress = text.length <= 254 && /^[!-~]+$/.test(text) && /^[^@<>(),;:"[\]\\]+@[^@<>(),;:"[\]\\]+$/.test(text)
  return isAddress ? text.toLowerCase() : undefined
}

/**
 * Returns the normal form of an e-mail address. Throws {@link InvalidAccount} if the text is not an address.
 *
 * @example
 * ```ts
 * requireEmail('Ann@Example.com') // → "ann@example.com"
 * ```
 */
export function requireEmail(text: string): string {
  const email = normalEmail(text)
  if (email === undefined) throw new InvalidAccount(`${JSON.stringify(text)} is not an e-mail address in ASCII`)
  return email
}
