import {
  fileMessages,
  type JsonObject,
  keyProblem,
  limits,
  type ProfileEntry,
  reservedName,
  standardPrefix,
  unknownType,
  valueTypes,
} from '@sluice/contract'
import { parseJsonValue } from './values/json.ts'

/**
 * Checks each entry of a profile update by itself (service.md, Profile entry; code 1003;
 * service.md, What the service does; service.md, Endpoints 2; service.md, Errors; design.md §3, Standard profiles).
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
  // design.md §3, Profile update.
  const checked: ProfileEntry[] = []
  const messages: string[] = []
  for (const [index, entry] of entries.entries()) {
    const result = checkEntry(entry, index)
    if (typeof result !== 'string') checked.push(result)
    else if (messages.push(result) === limits.messagesPerAnswer) break
  }
  return messages.length === 0 ? { entries: checked } : { messages }
}

function checkEntry({ key, type: typeName, value: given }: JsonObject, index: number): ProfileEntry | string {
  if (typeof key !== 'string') return `user_profiles[${index}]: key must be a string`
  const problem = keyProblem(key)
  if (problem === reservedName(key) && key.startsWith(standardPrefix)) return fileMessages.standardProfiles(key)
  if (problem !== undefined) return key === '' ? `user_profiles[${index}]: ${problem}` : problem

  const type = valueTypes.find((known) => known === typeName)
  if (type === undefined) return `${key} ${unknownType}`
  const value = parseJsonValue(given, type)
  return typeof value === 'object' ? `${key} ${value.message}` : { key, type, value }
}
