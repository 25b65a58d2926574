import { type Database, sql } from '@sluice/database'
import type { ImportContext, ImportId, RequestContext } from '../context.ts'
import { sweepLater } from '../file/file-sweeps.ts'
import { importPrefix, uploadKey } from '../file/object-keys.ts'
import { optionColumns } from '../options.ts'
import { followsDeletion } from '../retention.ts'
import { type FirstState, unfinishedStates } from '../states.ts'
import { withinWaitingLimit } from './waiting-limit.ts'

/** What retrying an import needs. */
export type RetryContext = RequestContext & Pick<ImportContext, 'log'>

/** The columns of an import that its retry takes over: the file, and the options of the request. */
const copiedColumns = [
  'source',
  'dry_run',
  'file_name',
  'content_type',
  'byte_size',
  'stored_size',
  'checksum',
  'data_order',
  ...optionColumns,
] as const

/** An import cannot be retried. The message says why, for people. */
export class RetryRefused extends Error {
  override readonly name = 'RetryRefused'
}

/**
 * Retries an import that failed or was cancelled: a new import of the same file and options, at the end of the app's
 * import order. The file is copied, because the files of both imports are removed at different times. If the process
 * dies before the copy becomes an import, maintenance removes the copy (`file_sweeps`).
 *
 * The new import takes over `data_order`. Rows of users who were deleted after the client sent the data are passed
 * over, so a retry never restores deleted data.
 *
 * Returns the ID of the new import. Throws {@link RetryRefused}, `TooManyWaiting`, or an error of storage.
 */
export async function retryImport(context: RetryContext, { appId, importId }: ImportId): Promise<string> {
  const { db, storage } = context
  const source = await checkRetry(db, { appId, importId })
  const retry = { appId, importId: crypto.randomUUID() }
  const target = uploadKey(appId, retry.importId)
  await sweepLater(db, retry)
  let mayBeQueued = false
  try {
    const original = await storage.stat(source)
    if (original === undefined) throw new RetryRefused(fileGone)
    await storage.copy(source, original.etag, target)
    const copy = await storage.stat(target)
    if (copy === undefined) throw new Error(`${target} was copied and is gone`)
    await withinWaitingLimit(db, appId, context.settings.WAITING_IMPORTS_LIMIT, async (tx) => {
      await checkRetry(tx, { appId, importId })
      await tx.deleteFrom('file_sweeps').where('app_id', '=', appId).where('import_id', '=', retry.importId).execute()
      await queueRetry(tx, { appId, importId }, { importId: retry.importId, objectKey: target, etag: copy.etag })
      mayBeQueued = true
    })
    return retry.importId
  } catch (error) {
    // If the answer to COMMIT is lost, the new import may exist and need its file. If it does not, the sweep follows.
    if (mayBeQueued) throw error
    // If this removal fails, the sweep repeats it.
    await storage.removeAll(importPrefix(appId, retry.importId)).catch((failure: unknown) => {
      context.log.warn({ err: failure, app_id: appId, import_id: retry.importId }, 'copy for a retry not removed')
    })
    throw error
  }
}

const fileGone = 'its file is no longer stored'

/** Returns the key of an import's file. Throws {@link RetryRefused} if the import cannot be retried. */
async function checkRetry(db: Database, { appId, importId }: ImportId): Promise<string> {
  const { rows } = await sql<{ state: string; object_key: string; is_stored: boolean; retried_as: string | null }>`
    select state, object_key, queued_at is not null and files_removed_at is null and not ${followsDeletion} as is_stored,
      (
        select r.import_id from imports r
        where r.app_id = ${appId} and r.state in ${unfinishedStates} and r.retry_of = ${importId} limit 1
      ) as retried_as
    from imports i where app_id = ${appId} and import_id = ${importId}
  `.execute(db)
  const [found] = rows
  if (found === undefined) throw new RetryRefused('there is no such import')
  if (found.state === 'completed') throw new RetryRefused('it has completed; correct its error file and import that')
  if (found.state === 'expired' || (found.state === 'cancelled' && !found.is_stored)) throw new RetryRefused(fileGone)
  if (found.state !== 'failed' && found.state !== 'cancelled') throw new RetryRefused('it has not ended')
  if (!found.is_stored) throw new RetryRefused(fileGone)
  if (found.retried_as !== null) throw new RetryRefused(`it is being retried already, as ${found.retried_as}`)
  return found.object_key
}

async function queueRetry(
  tx: Database,
  { appId, importId }: ImportId,
  copy: { importId: string; objectKey: string; etag: string },
): Promise<void> {
  await tx
    .insertInto('imports')
    .columns(['app_id', 'import_id', 'state', 'retry_of', 'object_key', 'etag', 'queued_at', ...copiedColumns])
    .expression(
      tx
        .selectFrom('imports')
        .select([
          'app_id',
          sql<string>`${copy.importId}::uuid`.as('import_id'),
          sql<FirstState>`${'queued' satisfies FirstState}`.as('state'),
          'import_id as retry_of',
          sql<string>`${copy.objectKey}`.as('object_key'),
          sql<string>`${copy.etag}`.as('etag'),
          sql<Date>`now()`.as('queued_at'),
          ...copiedColumns,
        ])
        .where('app_id', '=', appId)
        .where('import_id', '=', importId),
    )
    .execute()
}
