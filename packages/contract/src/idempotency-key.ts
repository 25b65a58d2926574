/**
 * Whether a text can be an idempotency key (second-day.md §4, Keys): 1 to 255 visible ASCII characters.
 *
 * @example
 * ```ts
 * isIdempotencyKey('8e03978e-40d5-43dd-bc93-6894a57f9324') // → true
 * isIdempotencyKey('two words') // → false
 * ```
 */
export function isIdempotencyKey(text: string): boolean {
  return /^[\x21-\x7e]{1,255}$/.test(text)
}
