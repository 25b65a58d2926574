/** An object from a client's JSON, with any members. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a parsed JSON value is an object, neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The message for a body that is not a JSON object. */
export const notAnObject = 'The request body must be a JSON object.'

/** Maximum number of messages in one answer. Otherwise a hostile body could cause an answer of many times its size. */
export const messagesPerAnswer = 100
