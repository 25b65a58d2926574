import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { limits } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { enqueueMails, heldNotification, importNotification, type MailId } from '@sluice/mail'
import {
  type Claim,
  type ClaimedImport,
  ClaimLost,
  claimed,
  type Removals,
  removalColumns,
  renewLease,
} from '../order/claim.ts'
import { isOutage } from '../order/outage.ts'
import { removeLinesOf } from '../run/undo-lines.ts'
import { nextState } from '../states.ts'
import { toChanges } from '../view/view.ts'
import { storeChangesFile } from './changes-file.ts'
import { allRows, type EndedRun, type StoredFile } from './chunks.ts'
import { removeChunks } from './drop-rows.ts'
import { type StoredErrorFile, storeErrorFile } from './error-file.ts'
import { fileUrl } from './file-link.ts'
import { enqueueImportEvent } from './import-event.ts'

/**
 * The end of an import, or of its check. `reasons` are why it is held; of a dry run, why it would be. undefined if
 * nothing was checked.
 */
export type End =
  | { state: 'completed' | 'held'; reasons: readonly string[] | undefined }
  | { state: 'cancelled' }
  | { state: 'failed'; error: string }

/** A stored file, and the secret part of its link; null without a file. */
interface LinkedFile extends StoredFile {
  secret: string | null
}

/** An import that ends, and its files. */
interface Ending extends EndedRun {
  errors: LinkedFile & StoredErrorFile
  changes: LinkedFile
  end: End
  /** Storage refused the files. */
  isRefused: boolean
  /** Removals before the file was stored. */
  removedBefore: Removals
}

/**
 * Ends an import (service.md, States and transitions). Stores its error file and its changes file, then writes its
 * state, its mails and its webhook deliveries in one transaction, which is durable when this returns. Stores the error
 * file again if its rows are removed meanwhile, by a deletion or because of a full disk.
 *
 * With `withoutErrorFile`, the import ends even if its error file cannot be stored, except during an outage. For a
 * cancelled import, this makes only its report. Returns the mails.
 *
 * Throws {@link ClaimLost}, also if more rows are committed than the run's progress has. The next claim then ends the
 * import. Throws an AbortError if the process shuts down before the error file is stored, and otherwise the errors of
 * storage.
 */
export async function finish(
  run: EndedRun,
  end: End,
  { withoutErrorFile = false }: { withoutErrorFile?: boolean } = {},
): Promise<MailId[]> {
  for (;;) {
    const ending = await store(run, end, withoutErrorFile)
    const mails = ending === undefined ? undefined : await commit(ending)
    if (mails !== undefined) return mails
  }
}

/** Returns whether the import ends before its check has passed. */
function hasChangedNothing({ isCheck }: ClaimedImport, end: End): boolean {
  // changes.md §2, The decision.
  return isCheck && end.state !== 'held'
}

const notStored = { key: undefined, endsBeforeRow: undefined, isUtf8: false }

function linked<File extends StoredFile>(file: File): File & LinkedFile {
  return { ...file, secret: file.key === undefined ? null : randomBytes(24).toString('base64url') }
}

/** Stores the files. Returns undefined if rows of the files were removed meanwhile. */
async function store(run: EndedRun, end: End, withoutErrorFile: boolean): Promise<Ending | undefined> {
  const { context, claim, progress } = run
  // If the answer to an earlier commit was lost, the import has ended and its chunks are removed. `renewLease` then
  // throws `ClaimLost`.
  const removedBefore = await renewLease(context, claim)
  const keepsChanges = claim.keepsChanges && !hasChangedNothing(claim, end)
  if (claim.undoOf !== null) await removeLinesOf(run)
  try {
    const errors = linked(claim.wasHeld ? notStored : await storeErrorFile(run))
    const changes = linked(keepsChanges ? await storeChangesFile(run) : notStored)
    return { ...run, errors, changes, end, isRefused: false, removedBefore }
  } catch (error) {
    if (context.shutdown?.aborted) throw error
    // If rows are removed while the file is sent, the file is shorter than its declared size, and sending it fails.
    if (!isDeepStrictEqual(await removals(context.db, claim), removedBefore)) return undefined
    if (!withoutErrorFile || (await isOutage(error, context))) throw error
    context.log.error({ err: error }, 'files of an import not stored')
    const without = (had: boolean) =>
      linked({ key: undefined, endsBeforeRow: had ? allRows : undefined, isUtf8: false })
    const files = { errors: without(progress.rowsFailed > 0), changes: without(keepsChanges) }
    return { ...run, ...files, end, isRefused: true, removedBefore }
  }
}

/**
 * Commits the end. Returns the mails; undefined if rows of the error file were removed since it was stored, which then
 * removes the file. Throws {@link ClaimLost}.
 */
async function commit(ending: Ending): Promise<MailId[] | undefined> {
  const { context, claim, errors, changes, removedBefore } = ending
  const mails = await context.db.transaction().execute(async (tx) => {
    const counts = await writeEnd(tx, ending)
    if (counts === undefined) {
      if ((await removals(tx, claim)).deletion === removedBefore.deletion) throw new ClaimLost()
      return undefined
    }
    // If storage refused the file, an operator can still use the chunks. They stay until the import's files are
    // removed.
    if (!ending.isRefused) await removeChunks(tx, claim)
    return await notify(tx, ending, counts)
  })
  if (mails === undefined)
    for (const { key } of [errors, changes]) if (key !== undefined) await context.storage.removeAll(key)
  return mails
}

/** Writes the end into the import's row. Returns its counts; undefined if the claim is lost, or rows were removed. */
async function writeEnd(tx: Database, ending: Ending) {
  const { claim, progress, end, removedBefore } = ending
  return await claimed({ db: tx }, claim)
    // A batch may have committed although its answer was lost. Its rows are not in `progress`, and maybe not in the
    // error file.
    .where('rows_total', '=', progress.rowsTotal)
    .where('deletions_applied_until', 'is not distinct from', removedBefore.deletion)
    .set({
      error: errorOf(end) ?? null,
      lease_until: null,
      types: JSON.stringify(progress.types),
      warnings: JSON.stringify(progress.warnings),
      ...stateColumns(ending),
      ...(hasChangedNothing(claim, end) && { rows_changed: 0, changes: '{}' }),
      report_due: false,
      ...fileColumns(ending),
    })
    .returning(['source', 'rows_total', 'rows_applied', 'rows_failed', 'rows_changed', 'error_counts'])
    .returning(['error_file_secret', 'error_file_ends_before_row', 'changes', 'held_until'])
    .executeTakeFirst()
}

function stateColumns({ context, end }: Ending) {
  if (end.state === 'cancelled') return {}
  if (end.state === 'failed')
    return { state: nextState(['processing', 'held'], end.state), finished_at: sql<Date>`now()` }
  const reasons = end.reasons === undefined ? {} : { held_reasons: [...end.reasons] }
  if (end.state === 'completed')
    return { state: nextState(['processing'], end.state), finished_at: sql<Date>`now()`, ...reasons }
  return {
    state: nextState(['processing'], end.state),
    ...reasons,
    // changes.md §2, Held.
    held_at: sql<Date>`now()`,
    held_until: sql<Date>`now() + make_interval(secs => ${context.settings.HOLD_LIMIT.ms / 1000})`,
    // A deletion with a higher number removes the files of this check. An approval compares the numbers.
    deletions_applied_until: sql<number>`nextval('data_order')`,
  }
}

/** Returns the columns of the files. An import that was held keeps the error file of its check. */
function fileColumns(ending: Ending) {
  const { claim, errors, changes } = ending
  const hasLink = errors.secret !== null || changes.secret !== null || claim.wasHeld
  return {
    ...(!claim.wasHeld && {
      error_bytes: 0,
      error_file_ends_before_row: errors.endsBeforeRow ?? null,
      error_file_key: errors.key ?? null,
      error_file_secret: errors.secret,
      error_file_is_utf8: errors.isUtf8,
    }),
    changes_bytes: 0,
    changes_file_ends_before_row: changes.endsBeforeRow ?? null,
    changes_file_key: changes.key ?? null,
    changes_file_secret: changes.secret,
    file_links_expire_at: !hasLink ? null : sql<Date>`now() + make_interval(days => ${linkDays(ending)})`,
  }
}

type EndCounts = NonNullable<Awaited<ReturnType<typeof writeEnd>>>

/** Records the webhook deliveries and the mails about the end. Returns the mails. */
async function notify(tx: Database, ending: Ending, counts: EndCounts): Promise<MailId[]> {
  const { context, claim, progress, end } = ending
  const { appId, importId } = claim
  const occurrence = end.state === 'held' ? `${importId}:${claim.attempt}` : importId
  await enqueueImportEvent(tx, claim, end.state, occurrence)
  const app = await tx.selectFrom('apps').select('name').where('app_id', '=', appId).executeTakeFirstOrThrow()
  const secret = counts.error_file_secret
  const url = secret === null ? undefined : fileUrl(context.settings.API_URL, 'errors', { importId, secret })
  const about = {
    importId,
    fileName: claim.fileName ?? undefined,
    appName: app.name,
    rowsTotal: counts.rows_total,
    rowsFailed: counts.rows_failed,
    pageUrl: context.dashboardUrl && `${context.dashboardUrl}/apps/${appId}/imports/${importId}`,
  }
  if (end.state === 'held') {
    const { held_until: until, changes } = counts
    const held = { reasons: end.reasons ?? [], changes: toChanges(changes), until: until ?? new Date() }
    // An import that is checked again may be held again, with other counts.
    return await enqueueMails(tx, appId, `import:${occurrence}`, heldNotification({ ...about, ...held }))
  }
  const content = importNotification({
    ...about,
    state: end.state,
    dryRun: claim.dryRun,
    source: counts.source,
    rowsApplied: counts.rows_applied,
    rowsChanged: counts.rows_changed,
    changes: claim.keepsChanges || claim.dryRun ? toChanges(counts.changes) : undefined,
    error: errorOf(end),
    errorFile: url === undefined ? undefined : { url, days: linkDays(ending) },
    errorFileEndsBeforeRow: counts.error_file_ends_before_row ?? undefined,
    errorCounts: counts.error_counts,
    warnings: progress.warnings,
  })
  return await enqueueMails(tx, appId, `import:${occurrence}`, content)
}

/** Returns the error in a form that Postgres can store. */
function errorOf(end: End): string | undefined {
  return end.state === 'failed' ? end.error.replaceAll('\0', '�').toWellFormed() : undefined
}

/** Returns for how many days the link to the error file is valid. */
function linkDays({ context }: Ending): number {
  return Math.min(limits.errorFileLinkDays, context.settings.FILE_RETENTION_DAYS)
}

async function removals(db: Database, { appId, importId }: Claim): Promise<Removals> {
  return await db
    .selectFrom('imports')
    .select(removalColumns)
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
}
