import { z } from 'zod'
import { newKeysChoices } from './answers.ts'
import { type Checked, member, refuse } from './check.ts'
import { parseHoldIf } from './hold-if.ts'
import { overLength } from './import-messages.ts'
import { isJsonObject } from './json-object.ts'
import { limits } from './limits.ts'
import { isLonger, textProblem } from './name.ts'
import { keyProblem, unknownType } from './profile-keys.ts'
import { type ValueType, valueTypes } from './value-type.ts'

// The first request of a bulk import. Its optional members are extensions of service.md, and the dashboard's form has
// them too.

// service.md, Errors: 400.
const missing = (name: string) => ({ messages: [`param is missing or the value is empty: ${name}`] })
const invalid = (message: string) => `Validation failed: ${message}`
const refused = (message: string) => ({ messages: [invalid(message)] })

const isAbsent = (value: unknown) => value === undefined || value === null || value === ''

/** Whether a text is canonical base64 of exactly 16 bytes, the size of an MD5 digest. */
function isChecksum(text: string): boolean {
  const digest = Buffer.from(text, 'base64')
  return digest.length === 16 && digest.toString('base64') === text
}

const checksum = member<string>(
  (given) => {
    if (typeof given === 'string' && isChecksum(given)) return { value: given }
    return isAbsent(given) ? missing('checksum') : refused('Checksum is invalid')
  },
  {
    type: 'string',
    description: 'MD5 digest of the file as sent, in base64.',
    contentEncoding: 'base64',
    minLength: 24,
    maxLength: 24,
  },
)

/** The sample in service.md sends the size as a string. A JSON number is accepted as well. */
const byteSize = member<number>(
  (given) => {
    const text = typeof given === 'number' ? String(given) : given
    if (typeof text === 'string' && /^\d{1,15}$/.test(text) && Number(text) > 0) return { value: Number(text) }
    return isAbsent(given) ? missing('byte_size') : refused('byte_size must be a positive integer')
  },
  // JSON Schema allows several types; zod's type of one does not.
  {
    ...({ type: ['string', 'integer'] } as object),
    description: 'Size of the file as sent, bytes.',
    pattern: '^[0-9]{1,15}$',
    minimum: 1,
  },
)

/** Returns the schema of a member with these values. Another value is refused with a message. */
function oneOf<const Value, const Absent>(
  values: readonly Value[],
  absent: Absent,
  message: string,
  described: z.core.JSONSchema.BaseSchema,
) {
  return member<Value | Absent>((given) => {
    const value = values.find((each) => each === given)
    if (value !== undefined) return { value }
    return isAbsent(given) ? { value: absent } : refused(message)
  }, described)
}

const contentTypes = ['text/csv', 'application/gzip'] as const

/** Returns the schema of an optional text. `problem` returns why a text is refused. */
function text(name: string, problem: (text: string) => string | undefined, described: z.core.JSONSchema.BaseSchema) {
  return member<string | undefined>(
    (given) => {
      if (given === undefined || given === null) return { value: undefined }
      const found = typeof given === 'string' ? problem(given) : 'must be a string'
      return found === undefined ? { value: given as string } : refused(`${name} ${found}`)
    },
    { type: 'string', ...described },
  )
}

function fileNameProblem(name: string): string | undefined {
  return isLonger(name, limits.fileNameLength) ? overLength(limits.fileNameLength) : textProblem(name)
}

/**
 * Returns why a text cannot be a clear marker; undefined if it can (second-day.md §2, Clear marker). The message
 * follows the marker's name.
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

/**
 * Returns the messages about declared types that are refused, as the first request answers them.
 *
 * @example
 * ```ts
 * refusedTypes(['zip is registered as int']) // → ["Validation failed: profile_types: zip is registered as int"]
 * ```
 */
export function refusedTypes(problems: readonly string[]): string[] {
  return problems.slice(0, limits.messagesPerAnswer).map((problem) => invalid(`profile_types: ${problem}`))
}

/**
 * Checks declared types: an object with the type of each declared column.
 *
 * Accepts parsed JSON. Returns the types, or a message for each problem, at most 100. All names together may have at
 * most the bytes of a header, because a file with a longer header is refused anyway.
 *
 * @example
 * ```ts
 * parseProfileTypes({ zip: 'string' }) // → {"value": {"zip": "string"}}
 * parseProfileTypes('zip').messages.length // → 1
 * ```
 */
export function parseProfileTypes(given: unknown): Checked<Readonly<Record<string, ValueType>>> {
  if (isAbsent(given)) return { value: {} }
  if (!isJsonObject(given)) return refused('profile_types must be an object of keys with their types')
  const types: [string, ValueType][] = []
  const problems: string[] = []
  let bytes = 0
  for (const [key, typeName] of Object.entries(given)) {
    bytes += Buffer.byteLength(key)
    const type = valueTypes.find((known) => known === typeName)
    const problem = keyProblem(key) ?? (type === undefined ? `${key} ${unknownType}` : undefined)
    if (type !== undefined && problem === undefined) types.push([key, type])
    else if (problems.push(problem ?? '') === limits.messagesPerAnswer) break
  }
  if (problems.length === 0 && bytes > limits.headerBytes)
    problems.push(`the keys have over ${limits.headerBytes} bytes, more than a header`)
  return problems.length === 0 ? { value: Object.fromEntries(types) } : { messages: refusedTypes(problems) }
}

const percent = { type: 'number', minimum: 0, maximum: 100 } as const

const members = z.object({
  checksum,
  byte_size: byteSize,
  content_type: oneOf(contentTypes, 'text/csv', 'content_type must be text/csv or application/gzip', {
    type: 'string',
    enum: [...contentTypes],
    description: 'Default: text/csv.',
  }),
  dry_run: oneOf([true, false], false, 'dry_run must be true or false', {
    type: 'boolean',
    description: 'Extension of Sluice: check the whole file and report, apply nothing. Default: false.',
  }),
  profile_types: member(parseProfileTypes, {
    type: 'object',
    description:
      'Extension of Sluice: the types of columns, by key, instead of inferred types. A registered key keeps its type, so another type is refused.',
    additionalProperties: { type: 'string', enum: [...valueTypes] },
  }),
  new_keys: oneOf(newKeysChoices, undefined, 'new_keys must be register or refuse', {
    type: 'string',
    enum: newKeysChoices,
    description:
      'Extension of Sluice: with `refuse`, a file with columns that are neither registered nor declared fails. Default: the setting of the app.',
  }),
  // changes.md §1, Asking for it.
  keep_changes: oneOf([true, false], undefined, 'keep_changes must be true or false', {
    type: 'boolean',
    description:
      'Extension of Sluice: keep what each row changes, for `changes` and the changes file. Default: the setting of the app.',
  }),
  hold_if: member(
    (given) => {
      if (isAbsent(given)) return { value: undefined }
      const parsed = parseHoldIf(given)
      return 'problem' in parsed ? refused(`hold_if ${parsed.problem}`) : parsed
    },
    {
      description:
        'Extension of Sluice: check the whole file first, and hold the import for approval if more than this would fail, change, be removed or be registered. Default: the setting of the app.',
      anyOf: [
        { type: 'string', enum: ['always', 'never'] },
        {
          type: 'object',
          minProperties: 1,
          additionalProperties: false,
          properties: {
            failed_percent: percent,
            changed_percent: percent,
            removed_percent: percent,
            new_keys: { type: 'integer', minimum: 0 },
          },
        },
      ],
    },
  ),
  clear_marker: text('clear_marker', clearMarkerProblem, {
    minLength: 1,
    maxLength: limits.clearMarkerLength,
    pattern: '^[^,"\\r\\n]*$',
    description:
      "Extension of Sluice: a cell that equals this text removes the key from the user's profile. An empty cell still changes nothing.",
  }),
  // second-day.md §1, File name.
  file_name: text('file_name', fileNameProblem, {
    maxLength: limits.fileNameLength,
    description: 'Extension of Sluice: the name of the file, which lists and mails show.',
  }).transform((name) => name || undefined),
})

/**
 * Body of the bulk import's first request (service.md, Bulk import upload request;
 * design.md §3, byte_size over the limit).
 */
export const importRequest = members
  .superRefine(({ byte_size: bytes, content_type: type }, context) => {
    const limit = limits.uploadBytes[type]
    if (bytes <= limit) return
    refuse(context, invalid(`byte_size is over the limit of ${limit} bytes for ${type}`))
  })
  .meta({ id: 'ImportRequest', required: ['checksum', 'byte_size'] })

type Members = z.output<typeof members>
type Options = 'profile_types' | 'new_keys' | 'keep_changes' | 'hold_if' | 'clear_marker' | 'file_name'

/** A checked first request. Members that service.md does not have may be absent. */
export type ImportRequest = Omit<Members, Options> & Partial<Pick<Members, Options>>
