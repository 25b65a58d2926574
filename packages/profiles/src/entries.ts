import {
  fileMessages,
  type JsonObject,
  limits,
  messagesPerAnswer,
  nameProblem,
  type ProfileEntry,
  serviceErrorsColumn,
  standardPrefix,
  userIdColumn,
  valueTypes,
} from '@sluice/contract'
import { parseJsonValue } from './values/json.ts'

/** Columns with these names have another meaning in a file, so an import could never write such a key. */
const reservedKeys = new Set<string>([userIdColumn, serviceErrorsColumn])

/**
 * Checks each entry of a profile update by itself (service.md, Profile entry; code 1003).
 *
 * Returns the entries in the same order, with datetimes in UTC. If entries are invalid, returns a message for each
 * instead, at most 100. A message names the entry's key, or the entry's index if the key cannot be shown.
 *
 * @example
 * ```ts
 * checkEntries([{ key: 'age', type: 'int', value: '12' }]) // → {"messages": ["age should be integer"]}
 * ```
 */
export function checkEntries(entries: readonly JsonObject[]): { entries: ProfileEntry[] } | { messages: string[] } {
  const checked: ProfileEntry[] = []
  const messages: string[] = []
  for (const [index, entry] of entries.entries()) {
    const result = checkEntry(entry, index)
    if (typeof result !== 'string') checked.push(result)
    else if (messages.push(result) === messagesPerAnswer) break
  }
  return messages.length === 0 ? { entries: checked } : { messages }
}

function checkEntry({ key, type: typeName, value: given }: JsonObject, index: number): ProfileEntry | string {
  if (typeof key !== 'string') return `user_profiles[${index}]: key must be a string`
  if (key === '') return `user_profiles[${index}]: key must not be empty`
  const problem = nameProblem(key, limits.keyLength)
  if (problem !== undefined) return `${shown(key)} ${problem}`
  if (key.startsWith(standardPrefix)) return fileMessages.standardProfiles(key)
  if (reservedKeys.has(key)) return `${key} is a reserved name`

  const type = valueTypes.find((known) => known === typeName)
  if (type === undefined) return `${key} should be of type ${valueTypes.join(', ')}`
  const value = parseJsonValue(given, type)
  return typeof value === 'object' ? `${key} ${value.message}` : { key, type, value }
}

/** Returns an invalid key in a form that a message can show. */
function shown(key: string): string {
  const start = Array.from(key.slice(0, 2 * limits.keyLength))
    .slice(0, limits.keyLength)
    .join('')
  return `${start.replaceAll('\0', '\ufffd').toWellFormed()}${start.length < key.length ? '…' : ''}`
}
