import { z } from 'zod'
import { overLength } from './import-messages.ts'
import { isJsonObject, messagesPerAnswer } from './json-object.ts'
import { limits } from './limits.ts'
import { isLonger, textProblem } from './name.ts'
import { keyProblem, unknownType } from './profile-keys.ts'
import { type ValueType, valueTypes } from './value-type.ts'

// Optional members of the first request. They are extensions of service.md, and the dashboard's form has them too.

/** What an import does with new keys, which are neither registered nor declared: register them, or refuse the file. */
export const newKeysChoices = ['register', 'refuse'] as const

const invalid = (message: string) => `Validation failed: ${message}`

const isAbsent = (value: unknown) => value === undefined || value === null || value === ''

/**
 * Returns the messages about declared types that are refused, as the first request answers them.
 *
 * @example
 * ```ts
 * refusedTypes(['zip is registered as int']) // → ["Validation failed: profile_types: zip is registered as int"]
 * ```
 */
export function refusedTypes(problems: readonly string[]): string[] {
  return problems.slice(0, messagesPerAnswer).map((problem) => invalid(`profile_types: ${problem}`))
}

/**
 * Checks declared types: an object with the type of each declared column.
 *
 * Accepts parsed JSON. Returns the types, or a message for each problem, at most 100. All names together may have at
 * most the bytes of a header, because a file with a longer header is refused anyway.
 *
 * @example
 * ```ts
 * parseProfileTypes({ zip: 'string' }) // → {"types": {"zip": "string"}}
 * parseProfileTypes('zip').messages.length // → 1
 * ```
 */
export function parseProfileTypes(
  value: unknown,
): { types: Readonly<Record<string, ValueType>> } | { messages: string[] } {
  if (isAbsent(value)) return { types: {} }
  if (!isJsonObject(value)) return { messages: [invalid('profile_types must be an object of keys with their types')] }
  const types: [string, ValueType][] = []
  const problems: string[] = []
  let bytes = 0
  for (const [key, typeName] of Object.entries(value)) {
    bytes += Buffer.byteLength(key)
    const type = valueTypes.find((known) => known === typeName)
    const problem = keyProblem(key) ?? (type === undefined ? `${key} ${unknownType}` : undefined)
    if (type !== undefined && problem === undefined) types.push([key, type])
    else if (problems.push(problem ?? '') === messagesPerAnswer) break
  }
  if (problems.length === 0 && bytes > limits.headerBytes)
    problems.push(`the keys have over ${limits.headerBytes} bytes, more than a header`)
  return problems.length === 0 ? { types: Object.fromEntries(types) } : { messages: refusedTypes(problems) }
}

export const profileTypes = z
  .unknown()
  .optional()
  .transform((value, context) => {
    const parsed = parseProfileTypes(value)
    if ('types' in parsed) return parsed.types
    for (const message of parsed.messages) context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
  .meta({
    type: 'object',
    description:
      'Extension of Sluice: the types of columns, by key, instead of inferred types. A registered key keeps its type, so another type is refused.',
    additionalProperties: { type: 'string', enum: [...valueTypes] },
  })

export const newKeys = z
  .unknown()
  .optional()
  .transform((value, context) => {
    if (isAbsent(value)) return undefined
    const choice = newKeysChoices.find((known) => known === value)
    if (choice !== undefined) return choice
    context.addIssue({ code: 'custom', message: invalid('new_keys must be register or refuse') })
    return z.NEVER
  })
  .meta({
    type: 'string',
    enum: [...newKeysChoices],
    description:
      'Extension of Sluice: with `refuse`, a file with columns that are neither registered nor declared fails. Default: the setting of the app.',
  })

export const fileName = z
  .unknown()
  .optional()
  .transform((value, context) => {
    if (isAbsent(value)) return undefined
    const problem = typeof value === 'string' ? fileNameProblem(value) : 'must be a string'
    if (typeof value === 'string' && problem === undefined) return value
    context.addIssue({ code: 'custom', message: invalid(`file_name ${problem}`) })
    return z.NEVER
  })
  .meta({
    type: 'string',
    maxLength: limits.fileNameLength,
    description: 'Extension of Sluice: the name of the file, which lists and mails show.',
  })

function fileNameProblem(text: string): string | undefined {
  return isLonger(text, limits.fileNameLength) ? overLength(limits.fileNameLength) : textProblem(text)
}

export const clearMarker = z
  .unknown()
  .optional()
  .transform((value, context) => {
    if (value === undefined || value === null) return undefined
    const problem = typeof value === 'string' ? clearMarkerProblem(value) : 'must be a string'
    if (typeof value === 'string' && problem === undefined) return value
    context.addIssue({ code: 'custom', message: invalid(`clear_marker ${problem}`) })
    return z.NEVER
  })
  .meta({
    type: 'string',
    minLength: 1,
    maxLength: limits.clearMarkerLength,
    pattern: '^[^,"\\r\\n]*$',
    description:
      "Extension of Sluice: a cell that equals this text removes the key from the user's profile. An empty cell still changes nothing.",
  })

/**
 * Returns why a text cannot be a clear marker; undefined if it can. The message follows the marker's name.
 *
 * @example
 * ```ts
 * clearMarkerProblem('#N/A') // → undefined
 * clearMarkerProblem('a,b') // → "must not contain a comma, a quote or a line break"
 * ```
 */
export function clearMarkerProblem(text: string): string | undefined {
  if (text === '') return 'must not be empty'
  if (isLonger(text, limits.clearMarkerLength)) return overLength(limits.clearMarkerLength)
  return /[,"\r\n]/.test(text) ? 'must not contain a comma, a quote or a line break' : textProblem(text)
}
