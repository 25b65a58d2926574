import { fileMessages, serviceErrorsColumn, standardPrefix, userIdColumn } from './import-messages.ts'
import { isJsonObject, messagesPerAnswer, notAnObject } from './json-object.ts'
import { limits } from './limits.ts'
import { nameProblem } from './name.ts'
import { type ValueType, valueTypes } from './value-type.ts'

/** Columns with these names have another meaning in a file, so no import could write such a key. */
const reservedNames = new Set<string>([userIdColumn, serviceErrorsColumn])

/** The message about a type that is not one of the four types. The key precedes the message. */
export const unknownType = `should be of type ${valueTypes.join(', ')}`

/**
 * Returns why a text cannot be a profile key; undefined if it can. The message names the key.
 *
 * @example
 * ```ts
 * keyProblem('zip') // → undefined
 * keyProblem('user_id') // → "user_id is a reserved name"
 * keyProblem('') // → "key must not be empty"
 * ```
 */
export function keyProblem(key: string): string | undefined {
  const problem = nameProblem(key, limits.keyLength)
  if (problem !== undefined) return `${key === '' ? 'key' : shownKey(key)} ${problem}`
  return reservedNames.has(key) || key.startsWith(standardPrefix) ? reservedName(key) : undefined
}

/**
 * Returns the message about a name that no profile key may have.
 *
 * @example
 * ```ts
 * reservedName('user_id') // → "user_id is a reserved name"
 * ```
 */
export function reservedName(key: string): string {
  return `${key} is a reserved name`
}

/** Returns a key in a form that a message can show, cut off after the greatest length of a key. */
function shownKey(key: string): string {
  const start = Array.from(key.slice(0, 2 * limits.keyLength))
    .slice(0, limits.keyLength)
    .join('')
  return `${start.replaceAll('\0', '\ufffd').toWellFormed()}${start.length < key.length ? '…' : ''}`
}

/**
 * Returns the messages about keys that are registered with other types, one for each key (service.md, Profile entry).
 *
 * @example
 * ```ts
 * typeConflicts([['zip', 'int']]) // → ["zip is registered as int"]
 * ```
 */
export function typeConflicts(registered: Iterable<readonly [key: string, type: ValueType]>): string[] {
  return Array.from(registered, ([key, type]) => fileMessages.otherType(key, type))
}

/**
 * Checks the body of `POST /v1/profile_keys`: 1 to 500 keys with their types. A key may occur twice with the same type.
 *
 * Accepts the parsed JSON. Returns the wanted types by key, or at most 100 messages. A message names the key, or the
 * index of an entry whose key cannot be shown.
 *
 * @example
 * ```ts
 * parseKeyRegistration({ profile_keys: [{ key: 'zip', type: 'string' }] }).keys.get('zip') // → "string"
 * parseKeyRegistration({ profile_keys: [] }) // → {"messages": ["profile_keys must not be empty"]}
 * ```
 */
export function parseKeyRegistration(body: unknown): { keys: Map<string, ValueType> } | { messages: string[] } {
  if (!isJsonObject(body)) return { messages: [notAnObject] }
  const given = body.profile_keys
  const limit = limits.keysPerRequest
  if (!Array.isArray(given)) return { messages: ['profile_keys must be an array of keys with their types'] }
  if (given.length === 0) return { messages: ['profile_keys must not be empty'] }
  if (given.length > limit) return { messages: [`profile_keys must hold at most ${limit} keys`] }

  const keys = new Map<string, ValueType>()
  const messages: string[] = []
  for (const [index, entry] of given.entries()) {
    const problem = addKey(keys, entry, `profile_keys[${index}]`)
    if (problem !== undefined && messages.push(problem) === messagesPerAnswer) break
  }
  return messages.length === 0 ? { keys } : { messages }
}

/** Adds an entry to the keys. Returns its problem if it is not valid. */
function addKey(keys: Map<string, ValueType>, entry: unknown, place: string): string | undefined {
  if (!isJsonObject(entry)) return `${place} must be an object`
  const { key, type: typeName } = entry
  if (typeof key !== 'string') return `${place}: key must be a string`
  const problem = keyProblem(key)
  if (problem !== undefined) return key === '' ? `${place}: ${problem}` : problem
  const type = valueTypes.find((known) => known === typeName)
  if (type === undefined) return `${key} ${unknownType}`
  if ((keys.get(key) ?? type) !== type) return `${place}: ${key} has two types`
  keys.set(key, type)
  return undefined
}
