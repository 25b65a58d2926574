/** An object from a client's JSON, with any members. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * A number of a client's JSON that JavaScript spells in another way.
 *
 * @example
 * ```ts
 * new JsonNumber('4503599627370497.5').text // → "4503599627370497.5"
 * ```
 */
export class JsonNumber {
  /** The number as the client wrote it. */
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Whether a parsed JSON value is an object: neither null nor an array, nor a number.
 *
 * @example
 * ```ts
 * isJsonObject({}) // → true
 * isJsonObject([]) // → false
 * ```
 */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
}
