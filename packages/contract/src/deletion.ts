import { isJsonObject, messagesPerAnswer, notAnObject } from './json-object.ts'
import { limits } from './limits.ts'
import { nameProblem } from './name.ts'

/**
 * Checks the body of `POST /v3/user_data_deletions` (service.md, Deletion request): one user ID, or an array of 1 to
 * 10,000.
 *
 * Accepts the parsed JSON. Returns the user IDs unchanged, or at most 100 messages. A message names the invalid field,
 * and the index of the invalid element of an array.
 *
 * @example
 * ```ts
 * parseDeletionRequest({ identity_type: 'user_id', identity_value: 'alice' }) // → {"userIds": ["alice"]}
 * const body = { identity_type: 'email', identity_value: 'a' }
 * parseDeletionRequest(body) // → {"messages": ["identity_type must be user_id"]}
 * ```
 */
export function parseDeletionRequest(body: unknown): { userIds: string[] } | { messages: string[] } {
  if (!isJsonObject(body)) return { messages: [notAnObject] }
  const { identity_type: type, identity_value: value } = body
  const messages = type === 'user_id' ? [] : ['identity_type must be user_id']
  if (typeof value === 'string') {
    const problem = nameProblem(value, limits.userIdLength)
    if (problem !== undefined) messages.push(`identity_value ${problem}`)
    return messages.length === 0 ? { userIds: [value] } : { messages }
  }
  if (!Array.isArray(value)) messages.push('identity_value must be a user ID or an array of user IDs')
  else if (value.length === 0) messages.push('identity_value must not be empty')
  else if (value.length > limits.userIdsPerRequest) {
    messages.push(`identity_value must hold at most ${limits.userIdsPerRequest} user IDs`)
  } else return parseUserIds(value, messages)
  return { messages }
}

function parseUserIds(given: readonly unknown[], precedingMessages: readonly string[]) {
  const messages = [...precedingMessages]
  const userIds: string[] = []
  for (const [index, userId] of given.entries()) {
    const problem = typeof userId === 'string' ? nameProblem(userId, limits.userIdLength) : 'must be a string'
    if (typeof userId === 'string' && problem === undefined) userIds.push(userId)
    else if (messages.push(`identity_value[${index}] ${problem}`) >= messagesPerAnswer) break
  }
  return messages.length === 0 ? { userIds } : { messages }
}
