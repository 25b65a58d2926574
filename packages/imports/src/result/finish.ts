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
import { nextState } from '../states.ts'
import { allRows, type StoredErrorFile, storeErrorFile } from './error-file.ts'
import { errorFileUrl } from './error-link.ts'
import { enqueueImportEvent } from './import-event.ts'

/** The end of an import. */
export type End = { state: 'completed' | 'cancelled' } | { state: 'failed'; error: string }

/**
 * Ends an import (service.md, States and transitions). Stores its error file, then writes its state, its mails and its
 * webhook deliveries in one transaction, which is durable when this returns. Stores the error file again if its rows
 * are removed meanwhile, by a deletion or because of a full disk.
 *
 * With `withoutErrorFile`, the import ends even if its error file cannot be stored, except during an outage. For a
 * cancelled import, this makes only its report. Returns the mails.
 *
 * Throws {@link ClaimLost}, also if more rows are committed than `progress` has. The next claim then ends the import.
 * Throws an AbortError if the process shuts down before the error file is stored, and otherwise the errors of storage.
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

/** Ends an import, or returns undefined if rows of the error file were removed while it was stored. */
async function finishUnlessRemoved(
  context: ImportContext,
  claim: Claim,
  progress: Progress,
  end: End,
  withoutErrorFile: boolean,
): Promise<MailId[] | undefined> {
  // If the answer to an earlier commit was lost, the import has ended and its chunks are removed. `renewLease` then
  // throws `ClaimLost`.
  const removedBefore = await renewLease(context, claim)
  let stored: StoredErrorFile | undefined
  try {
    stored = await storeErrorFile(context, claim, progress.columns ?? [])
  } catch (error) {
    if (context.shutdown?.aborted) throw error
    // If rows are removed while the file is sent, the file is shorter than its declared size, and sending it fails.
    if (!isDeepStrictEqual(await removals(context.db, claim), removedBefore)) return undefined
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
      // A batch may have committed although its answer was lost. Its rows are not in `progress`, and maybe not in the
      // error file.
      .where('rows_total', '=', progress.rowsTotal)
      .where('error_rows_since', 'is not distinct from', removedBefore.deletion)
      .set({
        error: error ?? null,
        lease_until: null,
        types: JSON.stringify(progress.types),
        warnings: JSON.stringify(progress.warnings),
        ...(end.state !== 'cancelled' && {
          state: nextState(['processing'], end.state),
          finished_at: sql<Date>`now()`,
        }),
        report_due: false,
        error_bytes: 0,
        error_file_ends_before_row: endsBeforeRow ?? null,
        error_file_key: key ?? null,
        error_file_secret: secret,
        error_file_expires_at: key === undefined ? null : sql<Date>`now() + make_interval(days => ${linkDays})`,
      })
      .returning(['rows_total', 'rows_applied', 'rows_failed', 'rows_changed'])
      .executeTakeFirst()
    if (ended === undefined) {
      if ((await removals(tx, claim)).deletion === removedBefore.deletion) throw new ClaimLost()
      return undefined
    }
    // If storage refused the file, an operator can still use the chunks. They stay until the import's files are
    // removed.
    if (stored !== undefined) await removeChunks(tx, claim)
    await enqueueImportEvent(tx, claim, end.state)
    const app = await tx.selectFrom('apps').select('name').where('app_id', '=', claim.appId).executeTakeFirstOrThrow()
    const content = importNotification({
      importId: claim.importId,
      fileName: claim.fileName ?? undefined,
      appName: app.name,
      state: end.state,
      dryRun: claim.dryRun,
      rowsTotal: ended.rows_total,
      rowsApplied: ended.rows_applied,
      rowsFailed: ended.rows_failed,
      rowsChanged: ended.rows_changed,
      error,
      errorFile:
        secret === null
          ? undefined
          : { url: errorFileUrl(context.settings.API_URL, claim.importId, secret), days: linkDays },
      errorFileEndsBeforeRow: endsBeforeRow,
      warnings: progress.warnings,
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
