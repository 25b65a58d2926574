import { isJsonObject, messagesPerAnswer, notAnObject } from './json-object.ts'
import { limits } from './limits.ts'
import { nameProblem } from './name.ts'

/**
 * Checks the body of `POST /v1/users` (design.md §3, Registering users): 1 to 10,000 user IDs.
 *
 * Accepts the parsed JSON. Returns the user IDs unchanged, or at most 100 messages. A message names the index of an
 * invalid ID.
 *
 * @example
 * ```ts
 * parseUserRegistration({ user_ids: ['alice', 'bob'] }) // → {"userIds": ["alice", "bob"]}
 * parseUserRegistration({ user_ids: ['alice', ''] }) // → {"messages": ["user_ids[1] must not be empty"]}
 * ```
 */
export function parseUserRegistration(body: unknown): { userIds: string[] } | { messages: string[] } {
  if (!isJsonObject(body)) return { messages: [notAnObject] }
  const given = body.user_ids
  const limit = limits.userIdsPerRequest
  if (!Array.isArray(given)) return { messages: ['user_ids must be an array of user IDs'] }
  if (given.length === 0) return { messages: ['user_ids must not be empty'] }
  if (given.length > limit) return { messages: [`user_ids must hold at most ${limit} user IDs`] }

  const messages: string[] = []
  const userIds: string[] = []
  for (const [index, userId] of given.entries()) {
    const problem = typeof userId === 'string' ? nameProblem(userId, limits.userIdLength) : 'must be a string'
    if (problem === undefined) userIds.push(userId)
    else if (messages.push(`user_ids[${index}] ${problem}`) === messagesPerAnswer) break
  }
  return messages.length === 0 ? { userIds } : { messages }
}
