import { type Database, sql } from '@sluice/database'
import type { ImportId, RequestContext } from '../context.ts'
import type { OptionsRow } from '../options.ts'
import { followsDeletion } from '../retention.ts'
import { type FirstState, unfinishedStates } from '../states.ts'
import { withinWaitingLimit } from './waiting-limit.ts'

/** Maximum number of retries of one file, so that a file that cannot be imported does not occupy workers for days. */
const maxRetries = 20

/** The columns of an import that its retry takes over: the file, and the options of the request. */
const copiedColumns = [
  'source',
  'object_key',
  'file_name',
  'content_type',
  'byte_size',
  'stored_size',
  'checksum',
  'data_order',
  'new_keys',
  'clear_marker',
  // changes.md §2, The decision.
  'hold_if',
] as const

/** An import cannot be retried. The message says why, for people. */
export class RetryRefused extends Error {
  override readonly name = 'RetryRefused'
}

/**
 * Retries an import that failed or was cancelled (second-day.md §6, Retry): a new import of the same file and options,
 * at the end of the app's import order. Both imports share the file, which stays stored until the files of both may be
 * removed.
 *
 * The new import takes over `data_order`. Rows of users who were deleted after the client sent the data are passed
 * over, so a retry never restores deleted data.
 *
 * `requestedBy` says who retries it, as pages show it. Returns the ID of the new import. Throws {@link RetryRefused},
 * `TooManyWaiting`, or an error of storage.
 */
export async function retryImport(context: RequestContext, source: ImportId, requestedBy?: string): Promise<string> {
  return await importAgain(context, { ...source, requestedBy }, requireFailed)
}

/**
 * Imports the file of a dry run that has completed, as {@link retryImport} does: with the same options, and with the
 * types that the dry run showed. If another type is registered for a key by then, the import fails instead.
 * `keepChanges` is whether to keep what the import changes; undefined does as the dry run did.
 */
export async function importCheckedFile(
  context: RequestContext,
  source: ImportId,
  request: { requestedBy: string; keepChanges?: boolean | undefined },
): Promise<string> {
  return await importAgain(context, { ...source, ...request }, requireDryRun)
}

/** Returns why an import cannot be retried, as far as the database knows; null if it can. */
export async function whyNotRetried(db: Database, source: ImportId): Promise<string | null> {
  try {
    await findKey(db, source, requireFailed)
    return null
  } catch (error) {
    if (error instanceof RetryRefused) return error.message
    throw error
  }
}

/** An import whose file is imported again, the person who asked for it, and the option that the person changed. */
interface Source extends ImportId {
  requestedBy: string | undefined
  keepChanges?: boolean | undefined
}

async function importAgain(
  { db, storage, settings }: RequestContext,
  source: Source,
  require: (found: FoundImport) => void,
): Promise<string> {
  const file = await storage.stat(await findKey(db, source, require))
  if (file === undefined) throw new RetryRefused(fileGone)
  return await withinWaitingLimit(db, source.appId, settings.WAITING_IMPORTS_LIMIT, async (tx) => {
    await findKey(tx, source, require)
    return await queueAgain(tx, source, file.etag)
  })
}

const fileGone = 'its file is no longer stored'

/**
 * Returns the key of an import's file. Throws {@link RetryRefused} if the file cannot be imported again. `require`
 * throws it if the import itself is the reason.
 */
async function findKey(
  db: Database,
  { appId, importId }: ImportId,
  require: (found: FoundImport) => void,
): Promise<string> {
  const { rows } = await sql<FoundImport>`
    select state, dry_run, undo_of is not null as is_undo, object_key, queued_at is not null and files_removed_at is null and not ${followsDeletion} as is_stored,
      (select count(*) from imports r where app_id = ${appId} and object_key = i.object_key and retry_of is not null)
        as retries,
      exists (
        select from imports r
        where app_id = ${appId} and object_key = i.object_key and retry_of is not null and r.state = 'completed'
          and not r.dry_run
      ) as is_applied,
      (
        select r.import_id from imports r
        where r.app_id = ${appId} and r.state in ${unfinishedStates} and r.retry_of = ${importId} limit 1
      ) as retried_as
    from imports i where app_id = ${appId} and import_id = ${importId}
  `.execute(db)
  const [found] = rows
  if (found === undefined) throw new RetryRefused('there is no such import')
  if (found.is_undo) throw new RetryRefused('it is an undo; undo the import again')
  require(found)
  if (!found.is_stored) throw new RetryRefused(fileGone)
  if (found.retried_as !== null) throw new RetryRefused(`it is being retried already, as ${found.retried_as}`)
  if (found.retries >= maxRetries)
    throw new RetryRefused(`its file has been retried ${maxRetries} times; upload it again`)
  return found.object_key
}

interface FoundImport {
  state: string
  dry_run: boolean
  is_undo: boolean
  object_key: string
  is_stored: boolean
  /** Number of retries of the same file, those of retries included. */
  retries: number
  /** A retry of the same file has completed, and was no dry run. */
  is_applied: boolean
  retried_as: string | null
}

function requireFailed({ state, is_stored: isStored }: FoundImport): void {
  if (state === 'completed') throw new RetryRefused('it has completed; correct its error file and import that')
  if (state === 'expired' || (state === 'cancelled' && !isStored)) throw new RetryRefused(fileGone)
  if (state !== 'failed' && state !== 'cancelled') throw new RetryRefused('it has not ended')
}

function requireDryRun({ state, dry_run: isDryRun, is_applied: isApplied, retried_as: retriedAs }: FoundImport): void {
  if (!isDryRun || state !== 'completed') throw new RetryRefused('it is no dry run that has completed')
  if (retriedAs !== null) throw new RetryRefused(`its file is being imported already, as ${retriedAs}`)
  if (isApplied) throw new RetryRefused('its file has been imported already')
}

async function queueAgain(
  tx: Database,
  { appId, importId, requestedBy, keepChanges }: Source,
  etag: string,
): Promise<string> {
  const { import_id: retryId } = await tx
    .insertInto('imports')
    .columns([
      'app_id',
      'state',
      'retry_of',
      'etag',
      'requested_by',
      'queued_at',
      'dry_run',
      'profile_types',
      'keep_changes',
      ...copiedColumns,
    ])
    .expression(
      tx
        .selectFrom('imports')
        .select([
          'app_id',
          sql<FirstState>`${'queued' satisfies FirstState}`.as('state'),
          'import_id as retry_of',
          sql<string>`${etag}`.as('etag'),
          sql<string | null>`${requestedBy ?? null}::text`.as('requested_by'),
          sql<Date>`now()`.as('queued_at'),
          // Only a dry run is imported again after it has completed.
          sql<boolean>`dry_run and state <> 'completed'`.as('dry_run'),
          sql<OptionsRow['profile_types']>`
            case when state = 'completed' then (profile_types::jsonb || types::jsonb)::json else profile_types end
          `.as('profile_types'),
          sql<boolean>`coalesce(${keepChanges ?? null}::boolean, keep_changes)`.as('keep_changes'),
          ...copiedColumns,
        ])
        .where('app_id', '=', appId)
        .where('import_id', '=', importId),
    )
    .returning('import_id')
    .executeTakeFirstOrThrow()
  return retryId
}
