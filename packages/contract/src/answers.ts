import { z } from 'zod'
import { limits } from './limits.ts'
import { valueTypes } from './value-type.ts'

// Answers that clients read, and the types that the client package publishes. `scripts/build-client.ts` writes the
// published types from the schemas, so that they need no library: the type `ImportView` is that of `importView`.

/** States of an import that waits, runs or is held. */
export const unfinishedImportStates = ['awaiting_upload', 'queued', 'processing', 'held'] as const

export const importState = z.enum([...unfinishedImportStates, 'completed', 'failed', 'expired', 'cancelled'])
export type ImportState = z.output<typeof importState>

/** All states of an import (packages/engine/imports/src/states.ts). */
export const importStates = importState.options

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

/** The upload route of an import. */
export const importSource = z.enum(['v3', 'v2', 'dashboard', 'bucket', 'undo'])
export type ImportSource = z.output<typeof importSource>
export const importSources = importSource.options

/** What an import does with new keys, which are neither registered nor declared: register them, or refuse the file. */
export const newKeys = z.enum(['register', 'refuse'])
export type NewKeys = z.output<typeof newKeys>
export const newKeysChoices = newKeys.options

const key = z.string().min(1).max(limits.keyLength)
const type = z.enum(valueTypes)
const userId = z.string().min(1).max(limits.userIdLength)
const time = z.iso.datetime()

/**
 * Warns that a type was inferred that may be wrong (second-day.md §1, Warnings), or that a column is ignored
 * (changes.md §4).
 */
export const importWarning = z.object({
  key: z.string(),
  type,
  message: z.string(),
  examples: z.array(z.string()).max(3),
})
export type ImportWarning = z.output<typeof importWarning>

const count = z.int().nonnegative()
const changedValues = z.object({ added: count, changed: count, removed: count })

/** What rows change (changes.md §1, Counts). */
export const importChanges = z
  .object({
    rows: z.object({ created: count, changed: count }),
    values: changedValues,
    keys: z.record(z.string(), changedValues),
  })
  .meta({ id: 'Changes' })
export type ImportChanges = z.output<typeof importChanges>

/** An import as the API and the command line show it (design.md §2, Import view). */
export const importView = z
  .object({
    import_id: z.uuid(),
    state: importState.meta({ description: 'The last four are final.' }),
    source: importSource.meta({ description: 'How the file was sent.' }),
    file_name: z.string().nullable(),
    dry_run: z.literal(true).optional().meta({ description: 'Present only for a dry run, which applies no row.' }),
    retry_of: z.uuid().optional().meta({
      description:
        'Present only for a retry, or an import of a dry run’s file: the import whose file it imports again.',
    }),
    undo_of: z.uuid().optional().meta({ description: 'Present only for an undo: the import that it takes back.' }),
    paused: z.literal(true).optional().meta({
      description: 'Present only while the import waits because an operator has paused its app, or all apps.',
    }),
    all_apps_paused: z
      .literal(true)
      .optional()
      .meta({ description: 'Present only with `paused`, if all apps are paused.' }),
    rows_total: count.meta({ description: 'Rows that were read so far.' }),
    rows_applied: count.meta({ description: 'Rows that were applied; 0 of a dry run.' }),
    rows_failed: count.meta({ description: 'Rows with errors.' }),
    rows_changed: count.meta({
      description:
        'Extension of Sluice: rows that changed a profile as the preceding rows had left it; of a dry run, rows that would change one.',
    }),
    error: z.string().nullable().meta({ description: 'Why the import failed; null if it did not.' }),
    error_file_url: z.url().nullable().meta({
      description: 'Link to the rows with errors; null until the end, and without such rows.',
    }),
    error_file_ends_before_row: z.int().positive().optional().meta({
      description:
        'Present only if the error file leaves rows out: invalid rows from this data row on are counted, but not kept. Row 1 follows the header. 1 if there is no error file.',
    }),
    keep_changes: z.boolean().meta({ description: 'Whether the import keeps what each row changes.' }),
    changes: importChanges.nullable().meta({
      description:
        'What the committed rows changed. Null without `keep_changes`, except for a dry run, which applies nothing.',
    }),
    changes_file_url: z
      .url()
      .nullable()
      .meta({ description: 'Link to what each row changed; null without such a file.' }),
    changes_file_ends_before_row: z.int().positive().optional().meta({
      description:
        'Present only if the changes file leaves rows out: the first row with changes that it lacks. 1 if there is no file.',
    }),
    held: z
      .object({ reasons: z.array(z.string()), until: time.nullable() })
      .nullable()
      .meta({
        description:
          'Why the import is held until somebody approves or cancels it, and when it fails otherwise. Of a dry run: why the import would be held, with `until` null.',
      }),
    types: z.record(z.string(), type).meta({ description: 'The type of each column, by key.' }),
    warnings: z.array(importWarning).meta({
      description:
        'Inferred types that may be wrong: values lose their spelling in an int or decimal, or few values among the first rows made the key a string. Declare the type to choose it. Also columns that are ignored because their keys are disabled.',
    }),
    requested_at: time,
    started_at: time.nullable(),
    finished_at: time.nullable(),
  })
  .meta({ id: 'Import' })
export type ImportView = z.output<typeof importView>

/** A page of an app's imports, newest request first. */
export const importList = z
  .object({
    imports: z.array(importView),
    next_cursor: z.string().nullable().meta({ description: 'For the next page; null on the last page.' }),
  })
  .meta({ id: 'ImportList' })
export type ImportList = z.output<typeof importList>

/** Answer of the first request (service.md, Upload descriptor). */
export const uploadDescriptor = z
  .object({
    direct_upload: z.object({
      url: z.url(),
      headers: z.object({ 'Content-Type': z.string(), 'Content-MD5': z.string() }),
    }),
  })
  .meta({ id: 'UploadDescriptor' })
export type UploadDescriptor = z.output<typeof uploadDescriptor>

export const exportState = z.enum(['queued', 'processing', 'completed', 'failed'])
export type ExportState = z.output<typeof exportState>

/** Answer of `POST /v1/exports` (second-day.md §3, Exports). */
export const exportAnswer = z.object({ export_id: z.uuid(), state: z.literal('queued') }).meta({ id: 'ExportAnswer' })
export type ExportAnswer = z.output<typeof exportAnswer>

/** An export as the API and the command line show it (second-day.md §3, Exports). */
export const exportView = z
  .object({
    export_id: z.uuid(),
    state: exportState,
    rows: z.int().nonnegative().meta({ description: 'Users in the file; 0 until the export is completed.' }),
    bytes: z.int().nonnegative().meta({ description: 'Size of the file; while the export runs, the bytes so far.' }),
    file_url: z
      .url()
      .nullable()
      .meta({ description: 'Link to the file, which is valid for 7 days; null without a file.' }),
    error: z.string().nullable(),
    requested_at: time,
    finished_at: time.nullable(),
  })
  .meta({ id: 'Export' })
export type ExportView = z.output<typeof exportView>

/** A registered profile key as the API and the command line show it. */
export const profileKeyView = z
  .object({
    key,
    type,
    registered_at: time,
    enabled: z
      .boolean()
      .meta({ description: 'Values of a disabled key stay stored, and nothing reads or writes them.' }),
    description: z.string().max(limits.keyDescriptionLength).nullable(),
  })
  .meta({ id: 'ProfileKey' })
export type ProfileKeyView = z.output<typeof profileKeyView>

/** Answer of `POST /v1/profile_keys`: keys sorted by the bytes of their names. */
export const profileKeysAnswer = z.object({ profile_keys: z.array(profileKeyView) }).meta({ id: 'ProfileKeys' })
export type ProfileKeysAnswer = z.output<typeof profileKeysAnswer>

/** Answer of `GET /v1/profile_keys` (changes.md §4). */
export const profileKeyList = profileKeysAnswer
  .extend({
    limit: z.int().positive().meta({ description: 'Maximum number of enabled keys.' }),
    enabled_keys: count,
  })
  .meta({ id: 'ProfileKeyList' })
export type ProfileKeyList = z.output<typeof profileKeyList>

const maxPrecise = Number.MAX_SAFE_INTEGER

/**
 * Returns the schema of a profile entry (service.md, Profile entry): one for each type, which code generators name by
 * their titles. The JSON values are the same in requests and answers, except for datetimes. A schema cannot tell how a
 * number is written.
 */
function profileEntryWith(datetime: z.ZodType<string>, description: string) {
  const int = z.int().min(-maxPrecise).max(maxPrecise)
  const intMeta = { description: 'Digits without a point or an exponent.', format: 'int64' }
  const decimalMeta = {
    description: `Without a point and an exponent, it must be an int within ±${maxPrecise}.`,
    format: 'double',
  }
  return z
    .discriminatedUnion('type', [
      z
        .object({ key, type: z.literal('string'), value: z.string().max(limits.stringLength) })
        .meta({ title: 'string entry' }),
      z
        .object({
          key,
          type: z.literal('int'),
          value: int.meta({ ...intMeta, minimum: -maxPrecise, maximum: maxPrecise }),
        })
        .meta({ title: 'int entry' }),
      z
        .object({ key, type: z.literal('decimal'), value: z.number().meta(decimalMeta) })
        .meta({ title: 'decimal entry' }),
      z.object({ key, type: z.literal('datetime'), value: datetime }).meta({ title: 'datetime entry' }),
    ])
    .meta({ description })
}

/** A profile entry as a client sends it. The endpoint checks it in more detail. Other members are ignored. */
export const sentEntry = profileEntryWith(
  z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}(:[0-9]{2})?)$/)
    .meta({ description: 'ISO 8601 with an offset. Seconds are optional.' }),
  'A value for a key. Its JSON type depends on `type`.',
).meta({ id: 'ProfileEntry' })

/** One value of one key (service.md, Profile entry). A datetime is in UTC. */
export const profileEntry = z.object({ key, type, value: z.union([z.string(), z.number()]) })
export type ProfileEntry = z.output<typeof profileEntry>

const appliedEntry: z.ZodType<ProfileEntry> = profileEntryWith(
  z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}$/)
    .meta({ description: 'In UTC.' }),
  'An applied value.',
)

/**
 * Answer of `POST /v2/user_profiles`: all entries in the order of the request. An entry that a later entry of the same
 * key replaces is included.
 */
export const profileUpdateAnswer = z
  .object({ user_id: userId, user_profiles: z.array(appliedEntry).min(1) })
  .meta({ id: 'ProfileUpdateAnswer' })
export type ProfileUpdateAnswer = z.output<typeof profileUpdateAnswer>

/** Answer of requests that have no other result. */
export const acceptedAnswer = z.object({ status: z.literal('accepted') }).meta({ id: 'Accepted' })

/** One user with all values, as the API and `sluice users show` show it (design.md §2, User view). */
export const userDocument = z
  .object({
    user_id: userId,
    profiles: z
      .record(z.string(), z.object({ type, value: z.union([z.string(), z.number()]) }))
      .meta({ description: 'Every value, by key. A datetime is in UTC.' }),
    campaign_target: z.boolean().meta({ description: 'False from the start of a deletion.' }),
    deletion: z
      .object({
        state: z.enum(['accepted', 'started']),
        accepted_at: time,
        starts_at: time,
        completes_at: time,
      })
      .nullable()
      .meta({ description: 'The pending deletion with the earliest dates; null if there is none.' }),
  })
  .meta({ id: 'User' })
export type UserDocument = z.output<typeof userDocument>
