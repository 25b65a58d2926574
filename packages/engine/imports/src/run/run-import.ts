import { type Batches, type Columns, type HashTaking, openBatches } from '@sluice/batches'
import { fileMessages, limits } from '@sluice/contract'
import { FileError } from '@sluice/csv'
import { sql, untilAnswered } from '@sluice/database'
import { inImportTrace } from '@sluice/traces'
import type { ImportContext } from '../context.ts'
import { ImportFile } from '../file/source.ts'
import { type ClaimedFile, type ClaimedImport, ClaimLost, discountTry, releaseClaim } from '../order/claim.ts'
import { noteSlotTime } from '../order/fair-order.ts'
import { keepLease } from '../order/lease.ts'
import { type ReleaseReason, Slice } from '../order/slice.ts'
import { finish } from '../result/finish.ts'
import { stateOf } from '../states.ts'
import { passCheck, reasonsToHold } from './check.ts'
import { appliesNothing, progressStatements } from './progress.ts'
import { type Outcome, type Run, rowCounts } from './run.ts'
import { endAfterError, NoTryLeft } from './run-errors.ts'
import { applyUndo } from './undo.ts'

/**
 * Runs a claimed import from its last committed position to its end. When `shutdown` aborts, commits the batches in
 * flight and releases the claim. Waits at most a lease for a database that does not answer.
 *
 * Returns how the claim ended. Throws if Postgres cannot be reached for so long that the claim cannot even be released.
 * Another worker then claims the import when its lease has run out.
 */
export async function runImport(context: ImportContext, claim: ClaimedImport, shutdown: AbortSignal): Promise<Outcome> {
  const began = performance.now()
  const ended = await inImportTrace('import', claim.importId, () => runClaim(context, claim, shutdown))
  // Postgres may not answer after a claim is lost, and noting the slot time would wait for it.
  if (ended.outcome !== 'lost') {
    await noteSlotTime(context, claim.appId, performance.now() - began).catch((error: unknown) =>
      context.log.warn({ err: error, app_id: claim.appId }, 'time of a slot not noted'),
    )
  }
  return ended
}

async function runClaim(context: ImportContext, claim: ClaimedImport, shutdown: AbortSignal): Promise<Outcome> {
  const log = context.log.child({ app_id: claim.appId, import_id: claim.importId, attempt: claim.attempt })
  log.info({ tries: claim.tries, position: claim.progress.position }, 'import claimed')
  const lease = keepLease({ ...context, log }, claim)
  const stop = AbortSignal.any([shutdown, lease.refused, lease.expired])
  try {
    const { progress, tries } = claim
    const run = { context: { ...context, log, shutdown: stop }, claim, lease, progress, tries, batches: undefined }
    return await Promise.race([runToEnd(run), rejection(lease.expired)])
  } catch (error) {
    if (!(error instanceof ClaimLost)) throw error
    // If Postgres has not answered for a whole lease, asking it whether the import was cancelled would only wait.
    if (lease.expired.aborted) void untilAnswered(() => discountTry(context, claim), shutdown).catch(() => {})
    else if ((await stateOf(context.db, claim)) === 'cancelled') {
      log.info('import cancelled')
      return { outcome: 'cancelled' }
    }
    log.warn(`claim lost: ${error.message}`)
    return { outcome: 'lost' }
  } finally {
    lease.stop()
  }
}

/** Runs the import as long as the claim holds. Throws {@link ClaimLost}. */
async function runToEnd(claimed: Run): Promise<Outcome> {
  const { context } = claimed
  let run = claimed
  try {
    if (run.tries > context.settings.IMPORT_ATTEMPTS) throw new NoTryLeft(context.settings.IMPORT_ATTEMPTS)
    for (;;) {
      const released = await (run.claim.undoOf === null ? applyRows(run) : applyUndo(run))
      if (released !== undefined) return await releaseSlot(run, released)
      const reasons = appliesNothing(run.claim) ? await reasonsToHold(run) : undefined
      if (!run.claim.isCheck || reasons?.length !== 0) return await end(run, reasons)
      run = await passCheck(run)
    }
  } catch (error) {
    return await endAfterError(error, run)
  }
}

/** Ends an import, or holds it after its check. */
async function end(run: Run, reasons: readonly string[] | undefined): Promise<Outcome> {
  const state = run.claim.isCheck ? 'held' : 'completed'
  const mails = await finish(run, { state, reasons })
  run.context.log.info({ ...rowCounts(run), reasons }, `import ${state}`)
  return { outcome: state, mails }
}

/** Rejects with the signal's reason when the signal aborts. */
function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

const releaseReasons: Record<ReleaseReason, string> = {
  'slice is over': 'its slice is over, and other apps wait',
  paused: 'imports are paused',
}

/** Releases the claim before the end of the file. The import continues later, before all others of its app. */
async function releaseSlot({ context, claim, progress }: Run, reason: ReleaseReason): Promise<Outcome> {
  await releaseClaim(context, claim)
  context.log.info({ position: progress.position }, `import released: ${releaseReasons[reason]}`)
  return { outcome: 'released' }
}

/**
 * Applies the rest of the file, batch by batch, while the following batches are read.
 *
 * Returns undefined at the end of the file. Otherwise returns why the import is to be released; at least one batch is
 * committed then. When the process shuts down, throws an AbortError after the batches in flight have committed.
 */
async function applyRows(run: Run): Promise<ReleaseReason | undefined> {
  const began = performance.now()
  const { context, claim } = run
  checkSize(claim.file)
  const file = new ImportFile(context, claim.file)
  const { columns, position } = await file.open(claim.options, claim.progress)
  const { names, types, warnings } = columns
  run.progress = { ...run.progress, columns: [...names], types, warnings, position }
  const batches = await openBatchesOf(run, columns)
  try {
    let slice: Slice | undefined
    for await (const batch of batches.from(file.from(position))) {
      context.shutdown?.throwIfAborted()
      const ended = await slice?.endedBy()
      if (ended !== undefined) return ended
      slice ??= new Slice(context, claim, began)
      await batches.add(batch)
    }
    return undefined
  } finally {
    // Nothing else may be written under this claim while a batch is in flight, for whatever reason the reading ended.
    await batches.end()
  }
}

/** Opens the batches from the run's position on. Throws {@link ClaimLost} if the app was deleted with its imports. */
async function openBatchesOf(run: Run, columns: Columns): Promise<Batches> {
  const { db, settings } = run.context
  run.batches = await openBatches({
    db,
    owner: { ...run.claim, dryRun: appliesNothing(run.claim), hashTaking: await hashTakingOf(run) },
    progress: progressStatements(run),
    columns,
    committed: run.claim.progress,
    position: run.progress.position,
    maxRows: settings.BATCH_ROWS,
    fileBytes: uncompressedBytes(run.claim.file),
    knownRowsMemory: settings.KNOWN_ROWS_MEMORY,
    signal: run.context.shutdown,
    keyLimit: settings.PROFILE_KEY_LIMIT,
  })
  if (run.batches === undefined) throw new ClaimLost('the app was deleted')
  return run.batches
}

/** Number of completed imports among which the preceding ones are looked for: dry runs and undos are passed over. */
const lookedBack = 100

/**
 * Returns which profiles take hashes: some if the last completed import of the app had the same columns and clear
 * marker. If files of two forms alternated, each would write all profiles for the other one. Hashes are replaced only
 * when the second file of a form comes.
 */
async function hashTakingOf({ context, claim, progress }: Run): Promise<HashTaking | undefined> {
  if (appliesNothing(claim)) return undefined
  const { rows } = await sql<{ has_form: boolean | null; finished_at: Date }>`
    select columns::jsonb = ${JSON.stringify(progress.columns)}::jsonb
      and clear_marker is not distinct from ${claim.options.clearMarker}::text as has_form, finished_at
    from (
      select * from imports
      where app_id = ${claim.appId}::integer and state = 'completed' and sequence_number < (
        select sequence_number from imports
        where app_id = ${claim.appId}::integer and import_id = ${claim.importId}::uuid
      )
      order by sequence_number desc limit ${lookedBack}
    ) completed
    where not dry_run and undo_of is null
    order by sequence_number desc limit 2
  `.execute(context.db)
  const [preceding, earlier] = rows
  if (!preceding?.has_form) return undefined
  return { replaces: earlier?.has_form !== true, unlessWrittenSince: preceding.finished_at }
}

/** Returns about how many bytes the file has. Compressed rows are usually a fifth of their size. */
function uncompressedBytes({ storedSize, byteSize, contentType }: ClaimedFile): number {
  return (storedSize ?? byteSize ?? 0) * (contentType === 'text/csv' ? 1 : 5)
}

/**
 * Throws `FileError` if storage has accepted a file over the size limit, or of another size than the client declared
 * (design.md §3, Sizes).
 */
function checkSize({ byteSize, storedSize, contentType }: ClaimedFile): void {
  if (storedSize === null) return
  if (storedSize > limits.uploadBytes[contentType])
    throw new FileError(fileMessages.tooLarge(limits.uploadBytes[contentType]))
  if (byteSize !== null && storedSize !== byteSize) {
    throw new FileError(fileMessages.wrongSize(storedSize, byteSize))
  }
}
