import { z } from 'zod'
import { clearMarker, fileName, newKeys, profileTypes } from './import-options.ts'
import { notAnObject } from './json-object.ts'
import { limits } from './limits.ts'
import { valueTypes } from './value-type.ts'
import type { ImportState } from './wire-types.ts'

const missing = (name: string) => `param is missing or the value is empty: ${name}`
const invalid = (message: string) => `Validation failed: ${message}`

const isAbsent = (value: unknown) => value === undefined || value === null || value === ''

/** Whether a text is canonical base64 of exactly 16 bytes, the size of an MD5 digest. */
function isChecksum(text: string): boolean {
  const digest = Buffer.from(text, 'base64')
  return digest.length === 16 && digest.toString('base64') === text
}

const checksum = z
  .unknown()
  .optional()
  .transform((value, context) => {
    if (typeof value === 'string' && isChecksum(value)) return value
    context.addIssue({
      code: 'custom',
      message: isAbsent(value) ? missing('checksum') : invalid('Checksum is invalid'),
    })
    return z.NEVER
  })
  .meta({
    type: 'string',
    description: 'MD5 digest of the file as sent, in base64.',
    contentEncoding: 'base64',
    minLength: 24,
    maxLength: 24,
  })

/** The sample in service.md sends the size as a string. A JSON number is accepted as well. */
const byteSize = z
  .unknown()
  .optional()
  .transform((value, context) => {
    const text = typeof value === 'number' ? String(value) : value
    if (typeof text === 'string' && /^\d{1,15}$/.test(text) && Number(text) > 0) return Number(text)
    context.addIssue({
      code: 'custom',
      message: isAbsent(value) ? missing('byte_size') : invalid('byte_size must be a positive integer'),
    })
    return z.NEVER
  })
  .meta({
    type: ['string', 'integer'],
    description: 'Size of the file as sent, bytes.',
    pattern: '^[0-9]{1,15}$',
    minimum: 1,
  })

const contentType = z
  .unknown()
  .optional()
  .transform((value, context) => {
    if (isAbsent(value)) return 'text/csv' as const
    if (value === 'text/csv' || value === 'application/gzip') return value
    context.addIssue({ code: 'custom', message: invalid('content_type must be text/csv or application/gzip') })
    return z.NEVER
  })
  .meta({ type: 'string', enum: ['text/csv', 'application/gzip'], description: 'Default: text/csv.' })

/** Extension: the file is checked and not applied. */
const dryRun = z
  .unknown()
  .optional()
  .transform((value, context) => {
    if (isAbsent(value)) return false
    if (typeof value === 'boolean') return value
    context.addIssue({ code: 'custom', message: invalid('dry_run must be true or false') })
    return z.NEVER
  })
  .meta({
    type: 'boolean',
    description: 'Extension of Sluice: check the whole file and report, apply nothing. Default: false.',
  })

/** Body of the bulk import's first request (service.md, Bulk import upload request). */
export const importRequest = z
  .object(
    {
      checksum,
      byte_size: byteSize,
      content_type: contentType,
      dry_run: dryRun,
      profile_types: profileTypes,
      new_keys: newKeys,
      clear_marker: clearMarker,
      file_name: fileName,
    },
    { error: () => notAnObject },
  )
  .refine((request) => request.byte_size <= limits.uploadBytes[request.content_type], {
    error: (issue) => {
      const type = (issue.input as { content_type: keyof typeof limits.uploadBytes }).content_type
      return invalid(`byte_size is over the limit of ${limits.uploadBytes[type]} bytes for ${type}`)
    },
  })
  .meta({ required: ['checksum', 'byte_size'] })

type CheckedRequest = z.output<typeof importRequest>
type Options = 'profile_types' | 'new_keys' | 'clear_marker' | 'file_name'

/** A checked first request. Members that service.md does not have may be absent. */
export type ImportRequest = Omit<CheckedRequest, Options> & Partial<Pick<CheckedRequest, Options>>

/**
 * Checks the body of the first request of a bulk import (service.md, Bulk import upload request).
 *
 * Accepts the parsed JSON. Returns the request, or a message for each invalid field.
 *
 * @example
 * ```ts
 * const checksum = 'XrY7u+Ae7tCTyyK7j1rNww=='
 * parseImportRequest({ checksum, byte_size: '12' }).request.byte_size // → 12
 * parseImportRequest({ checksum }) // → {"messages": ["param is missing or the value is empty: byte_size"]}
 * ```
 */
export function parseImportRequest(body: unknown): { request: ImportRequest } | { messages: string[] } {
  const result = importRequest.safeParse(body)
  if (result.success) return { request: result.data }
  return { messages: result.error.issues.map((issue) => issue.message) }
}

/** Answer of the first request (service.md, Upload descriptor). */
export const uploadDescriptor = z.object({
  direct_upload: z.object({
    url: z.url(),
    headers: z.object({ 'Content-Type': z.string(), 'Content-MD5': z.string() }),
  }),
})

const timestamp = z.iso.datetime().nullable()

/** States of an import that waits or runs. */
export const unfinishedImportStates = ['awaiting_upload', 'queued', 'processing'] as const

/** All states of an import (packages/imports/src/states.ts). */
export const importStates = [...unfinishedImportStates, 'completed', 'failed', 'expired', 'cancelled'] as const

/** Warns that a type was inferred that may be wrong (second-day.md §1). */
const importWarning = z.object({
  key: z.string(),
  type: z.enum(['int', 'decimal', 'string']),
  message: z.string(),
  examples: z.array(z.string()).max(3),
})

/**
 * Returns whether a text is the name of a state.
 *
 * @example
 * ```ts
 * isImportState('failed') // → true
 * isImportState('lost') // → false
 * ```
 */
export function isImportState(text: string): text is ImportState {
  return importStates.some((state) => state === text)
}

/** The upload routes of imports. */
export const importSources = ['v3', 'v2', 'dashboard', 'bucket'] as const

/** An import as the API and the command line show it (design.md §2). */
export const importView = z.object({
  import_id: z.uuid(),
  state: z.enum(importStates),
  source: z.enum(importSources),
  file_name: z.string().nullable(),
  dry_run: z.literal(true).optional().meta({ description: 'Present only for a dry run, which applies no row.' }),
  retry_of: z
    .uuid()
    .optional()
    .meta({ description: 'Present only for a retry: the import whose file it imports again.' }),
  paused: z.literal(true).optional().meta({
    description: 'Present only while the import waits because an operator has paused its app, or all apps.',
  }),
  rows_total: z.int().nonnegative(),
  rows_applied: z.int().nonnegative(),
  rows_failed: z.int().nonnegative(),
  rows_changed: z.int().nonnegative().meta({
    description:
      'Extension of Sluice: applied rows that wrote something. A row whose values a profile already holds writes nothing. Rows of one user in the same batch are one write.',
  }),
  error: z.string().nullable(),
  error_file_url: z.url().nullable(),
  error_file_ends_before_row: z.int().positive().optional().meta({
    description:
      'Present only if the error file leaves rows out: invalid rows from this data row on are counted, but not kept. Row 1 follows the header. 1 if there is no error file.',
  }),
  types: z.record(z.string(), z.enum(valueTypes)),
  warnings: z.array(importWarning).meta({
    description:
      'Inferred types that may be wrong: values lose their spelling in an int or decimal, or few values among the first rows made the key a string. Declare the type to choose it.',
  }),
  requested_at: z.iso.datetime(),
  started_at: timestamp,
  finished_at: timestamp,
})
