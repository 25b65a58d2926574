import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { limits } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { enqueueMails, importNotification, type MailId } from '@sluice/mail'
import type { ImportContext } from '../context.ts'
import {
  type Claim,
  ClaimLost,
  claimed,
  type Progress,
  type Removals,
  removalColumns,
  renewLease,
} from '../order/claim.ts'
import { isOutage } from '../order/outage.ts'
import { allRows, type StoredErrorFile, storeErrorFile } from './error-file.ts'
import { errorFileUrl } from './error-link.ts'

/** How an import ends. */
export type End = { state: 'completed' | 'cancelled' } | { state: 'failed'; error: string }

/**
 * Ends an import: puts its error file into storage, then writes its state, and its mails into the outbox, in one
 * transaction that is durable when this returns. Stores the error file anew if its rows are removed meanwhile, by a deletion or on a
 * full disk.
 *
 * Accepts whether it is to end even if its error file can't be stored, except during an outage. An import that was cancelled has
 * left the line before, and has its report from here. Returns the mails.
 *
 * Throws {@link ClaimLost}, also if more rows are committed than `progress` has: the next claim ends the import then. Throws an
 * AbortError when the process shuts down before the error file is stored, and otherwise what storage throws.
 */
export async function finish(
  context: ImportContext,
  claim: Claim,
  progress: Progress,
  end: End,
  withoutErrorFile: boolean,
): Promise<MailId[]> {
  for (;;) {
    const mails = await finishUnlessRemoved(context, claim, progress, end, withoutErrorFile)
    if (mails !== undefined) return mails
  }
}

/** Returns undefined if rows of the error file were removed while it was stored. */
async function finishUnlessRemoved(
  context: ImportContext,
  claim: Claim,
  progress: Progress,
  end: End,
  withoutErrorFile: boolean,
): Promise<MailId[] | undefined> {
  // An end whose acknowledgement was lost must not be repeated: its error file would be made from chunks that are gone.
  const before = await renewLease(context, claim)
  let stored: StoredErrorFile | undefined
  try {
    stored = await storeErrorFile(context, claim, progress.columns ?? [])
  } catch (error) {
    if (context.shutdown?.aborted) throw error
    // A file whose rows go while it is being sent is shorter than storage was told.
    if (!isDeepStrictEqual(await removals(context.db, claim), before)) return undefined
    if (!withoutErrorFile || (await isOutage(error, context))) throw error
    context.log.error({ err: error }, 'error file not stored')
  }
  const key = stored?.key
  const endsBeforeRow = stored !== undefined ? stored.endsBeforeRow : progress.rowsFailed > 0 ? allRows : undefined
  const secret = key === undefined ? null : randomBytes(24).toString('base64url')
  const error = end.state === 'failed' ? end.error.replaceAll('\0', '�').toWellFormed() : undefined
  const linkDays = Math.min(limits.errorFileLinkDays, context.settings.FILE_RETENTION_DAYS)

  const mails = await context.db.transaction().execute(async (tx) => {
    const ended = await claimed({ db: tx }, claim)
      // A batch that broke off may have committed unheard: its rows are in neither `progress` nor, perhaps, the error file.
      .where('rows_total', '=', progress.rowsTotal)
      .where(sql<boolean>`error_rows_since is not distinct from ${before.deletion}::timestamptz`)
      .set({
        state: end.state,
        error: error ?? null,
        lease_until: null,
        types: JSON.stringify(progress.types),
        ...(end.state !== 'cancelled' && { finished_at: sql<Date>`now()` }),
        report_due: false,
        error_bytes: 0,
        error_file_ends_before_row: endsBeforeRow ?? null,
        error_file_key: key ?? null,
        error_file_secret: secret,
        error_file_expires_at: key === undefined ? null : sql<Date>`now() + make_interval(days => ${linkDays})`,
      })
      .returning(['rows_total', 'rows_applied', 'rows_failed'])
      .executeTakeFirst()
    if (ended === undefined) {
      if ((await removals(tx, claim)).deletion === before.deletion) throw new ClaimLost()
      return undefined
    }
    // If storage did not take the file, the chunks stay until the import's files are removed: an operator can still get at them.
    if (stored !== undefined) await removeChunks(tx, claim)
    const app = await tx.selectFrom('apps').select('name').where('app_id', '=', claim.appId).executeTakeFirstOrThrow()
    const content = importNotification({
      importId: claim.importId,
      appName: app.name,
      state: end.state,
      dryRun: claim.dryRun,
      rowsTotal: ended.rows_total,
      rowsApplied: ended.rows_applied,
      rowsFailed: ended.rows_failed,
      error,
      errorFile:
        secret === null
          ? undefined
          : { url: errorFileUrl(context.settings.API_URL, claim.importId, secret), days: linkDays },
      errorFileEndsBeforeRow: endsBeforeRow,
    })
    return await enqueueMails(tx, claim.appId, `import:${claim.importId}`, content)
  })
  if (mails === undefined && key !== undefined) await context.storage.removeAll(key)
  return mails
}

async function removals(db: Database, { appId, importId }: Claim): Promise<Removals> {
  return await db
    .selectFrom('imports')
    .select(removalColumns)
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
}

async function removeChunks(tx: Database, { appId, importId }: Claim): Promise<void> {
  await tx.deleteFrom('import_error_chunks').where('app_id', '=', appId).where('import_id', '=', importId).execute()
}
