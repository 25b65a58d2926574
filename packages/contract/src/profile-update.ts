import { isJsonObject, type JsonObject, messagesPerAnswer, notAnObject } from './json-object.ts'

/** A profile update of the right form. The contents of its entries have not been checked yet. */
export interface ProfileUpdateRequest {
  userId: string
  entries: readonly JsonObject[]
}

/**
 * Checks the form of the body of `POST /v2/user_profiles` (service.md, Profile update request; code 1001).
 *
 * Accepts the parsed JSON. Returns the request, or at most 100 messages about its form.
 *
 * @example
 * ```ts
 * const entries = [{ key: 'age', type: 'int', value: 34 }]
 * parseProfileUpdate({ user_id: 'alice', user_profiles: entries }).request.entries.length // → 1
 * parseProfileUpdate({ user_profiles: entries }) // → {"messages": ["param is missing or the value is empty: user_id"]}
 * ```
 */
export function parseProfileUpdate(body: unknown): { request: ProfileUpdateRequest } | { messages: string[] } {
  if (!isJsonObject(body)) return { messages: [notAnObject] }
  const { user_id: userId, user_profiles: given } = body
  const messages: string[] = []
  if (typeof userId !== 'string' || userId === '') messages.push(missing('user_id', userId, 'a string'))
  if (!Array.isArray(given) || given.length === 0) messages.push(missing('user_profiles', given, 'an array'))
  const entries: JsonObject[] = []
  for (const [index, entry] of (Array.isArray(given) ? given : []).entries()) {
    if (isJsonObject(entry)) entries.push(entry)
    else if (messages.push(`user_profiles[${index}] must be an object`) >= messagesPerAnswer) break
  }
  if (messages.length > 0 || typeof userId !== 'string') return { messages }
  return { request: { userId, entries } }
}

function missing(name: string, value: unknown, kind: string): string {
  const isEmpty = value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty ? `param is missing or the value is empty: ${name}` : `${name} must be ${kind}`
}
