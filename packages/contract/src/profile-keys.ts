import { z } from 'zod'
import { documented, nameOf, refuse } from './check.ts'
import { fileMessages, overLength, serviceErrorsColumn, standardPrefix, userIdColumn } from './import-messages.ts'
import { isJsonObject } from './json-object.ts'
import { limits } from './limits.ts'
import { isLonger, nameProblem, textProblem } from './name.ts'
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

const onlyMembers = 'The request body must have enabled, description or both, and no other member.'

const entry = z.object({ key: nameOf(limits.keyLength), type: z.enum(valueTypes) })
const most = limits.keysPerRequest

/**
 * Body of `POST /v1/profile_keys` (second-day.md §1, Profile keys): 1 to 500 keys with their types. A key may occur
 * twice with the same type. Its value has the types by key. A message names the key, or the index of an entry whose key
 * cannot be shown.
 */
export const keyRegistration = z
  .object({
    profile_keys: z
      .array(z.unknown(), 'must be an array of keys with their types')
      .min(1, 'must not be empty')
      .max(most, `must hold at most ${most} keys`)
      .transform(parseEntries)
      .meta({
        description: 'Names that begin with `$`, `user_id` and `SERVICE_ERRORS` are reserved.',
        items: documented(entry),
      }),
  })
  .meta({ id: 'ProfileKeyRegistration' })

function parseEntries(entries: readonly unknown[], context: z.RefinementCtx): Map<string, ValueType> {
  const keys = new Map<string, ValueType>()
  for (const [index, each] of entries.entries()) {
    const problem = addKey(keys, each, `profile_keys[${index}]`)
    if (problem !== undefined) refuse(context, problem)
  }
  return keys
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

/**
 * Body of `PATCH /v1/profile_keys/{key}` (changes.md §4): at least one of its members. An empty description counts as
 * null, which removes it.
 */
export const keyChange = z
  .strictObject(
    {
      enabled: z
        .boolean('must be a boolean')
        .optional()
        .meta({ description: 'Enabling must not exceed the limit of keys.' }),
      description: z
        .string('must be a string or null')
        .superRefine((text, context) => {
          const isLong = isLonger(text, limits.keyDescriptionLength)
          const message = isLong ? overLength(limits.keyDescriptionLength) : textProblem(text)
          if (message !== undefined) context.addIssue({ code: 'custom', message })
        })
        .nullish()
        .transform((text) => (text === '' ? null : text))
        .meta({ maxLength: limits.keyDescriptionLength, description: 'Null or an empty text removes it.' }),
    },
    onlyMembers,
  )
  .superRefine((change, context) => {
    if (Object.keys(change).length === 0) refuse(context, onlyMembers)
  })
  .meta({ id: 'ProfileKeyChange' })
