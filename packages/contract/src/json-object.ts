/** An object out of a client's JSON: any members of any kind. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a parsed JSON value is an object: not null, no array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a request is told whose body is something else. */
export const notAnObject = 'The request body must be a JSON object.'

/** Messages in one answer at most: a hostile body must not make an answer of many times its size. */
export const messagesPerAnswer = 100
