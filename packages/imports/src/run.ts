import { fileMessages, limits } from '@sluice/contract'
import { FileError, readRows } from '@sluice/csv'
import { registeredKeys } from '@sluice/profiles'
import { inImportTrace } from '@sluice/traces'
import { BatchSize } from './batch/batch-size.ts'
import { type CommitObserver, CommitOrder } from './batch/commit-order.ts'
import { cutBatches, joinBatches } from './batch/cut.ts'
import { withPreviewed } from './batch/dry-run.ts'
import { LargeBatches } from './batch/large-batches.ts'
import type { ImportContext } from './context.ts'
import { checkDeclaredTypes } from './file/check-columns.ts'
import { Columns } from './file/columns.ts'
import { inspectFile } from './file/inspect.ts'
import { openSource } from './file/source.ts'
import { type Claim, ClaimLost, discountTry, releaseClaim } from './order/claim.ts'
import { noteSlotTime } from './order/fair-order.ts'
import { keepLease, type Lease } from './order/lease.ts'
import { type ReleaseReason, Slice } from './order/slice.ts'
import { finish } from './result/finish.ts'
import { openRowHashes } from './row-hash/row-hashes.ts'
import { endAfterError, NoTryLeft, untilAnswered } from './run-errors.ts'
import { type Outcome, type RunState, rowCounts } from './run-state.ts'

/**
 * Runs a claimed import from its last committed position to its end. When `shutdown` aborts, commits the batches in
 * flight and releases the claim. Waits at most a lease for a database that does not answer.
 *
 * Returns how the claim ended. Throws if Postgres cannot be reached for so long that the claim cannot even be released.
 * Another worker then claims the import when its lease has run out.
 */
export async function runImport(context: ImportContext, claim: Claim, shutdown: AbortSignal): Promise<Outcome> {
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

async function runClaim(context: ImportContext, claim: Claim, shutdown: AbortSignal): Promise<Outcome> {
  const log = context.log.child({ app_id: claim.appId, import_id: claim.importId, attempt: claim.attempt })
  log.info({ tries: claim.tries, position: claim.progress.position }, 'import claimed')
  const lease = keepLease({ ...context, log }, claim)
  const stop = AbortSignal.any([shutdown, lease.refused, lease.expired])
  try {
    const outcome = runToEnd({ ...context, log, shutdown: stop }, claim, lease)
    return await Promise.race([outcome, rejection(lease.expired)])
  } catch (error) {
    if (!(error instanceof ClaimLost)) throw error
    // If Postgres has not answered for a whole lease, asking it whether the import was cancelled would only wait.
    if (lease.expired.aborted) void untilAnswered(() => discountTry(context, claim), shutdown).catch(() => {})
    else if (await isCancelled(context, claim)) {
      log.info('import cancelled')
      return { outcome: 'cancelled' }
    }
    log.warn(`claim lost: ${error.message}`)
    return { outcome: 'lost' }
  } finally {
    lease.stop()
  }
}

async function isCancelled({ db }: ImportContext, { appId, importId }: Claim): Promise<boolean> {
  const found = await db
    .selectFrom('imports')
    .select('state')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  return found?.state === 'cancelled'
}

/** Runs the import as long as the claim holds. Throws {@link ClaimLost}. */
async function runToEnd(context: ImportContext, claim: Claim, lease: Lease): Promise<Outcome> {
  const { progress, tries } = claim
  const run: RunState = { progress, tries, lease, batchSize: new BatchSize(progress.batchRows) }
  try {
    if (claim.tries > context.settings.IMPORT_ATTEMPTS) throw new NoTryLeft(context.settings.IMPORT_ATTEMPTS)
    const released = await applyRows(context, claim, run)
    if (released !== undefined) return await releaseSlot(context, claim, run, released)
    const mails = await finish(context, claim, run.progress, { state: 'completed' }, false)
    context.log.info(rowCounts(run.progress), 'import completed')
    return { outcome: 'completed', mails }
  } catch (error) {
    return await endAfterError(error, context, claim, run)
  }
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
async function releaseSlot(
  context: ImportContext,
  claim: Claim,
  run: RunState,
  reason: ReleaseReason,
): Promise<Outcome> {
  await releaseClaim(context, claim)
  context.log.info({ position: run.progress.position }, `import released: ${releaseReasons[reason]}`)
  return { outcome: 'released' }
}

/** Number of rows of an import's first batch. It is small, so that progress or the first error shows early. */
const firstRows = 1_000

/**
 * Applies the rest of the file, batch by batch, while the following batches are read.
 *
 * Returns undefined at the end of the file. Otherwise returns why the import is to be released; at least one batch is
 * committed then. When the process shuts down, throws an AbortError after the batches in flight have committed.
 */
async function applyRows(context: ImportContext, claim: Claim, run: RunState): Promise<ReleaseReason | undefined> {
  const began = performance.now()
  const { columns, position } = await openFile(context, claim)
  const { names, types, warnings } = columns
  run.progress = { ...run.progress, columns: [...names], types, warnings, position }
  const blocks = readRows(openSource(context, claim, position), { position, columns: columns.names.length })
  const rowHashes = await openRowHashes(context.db, claim.appId)
  const onCommit = noteCommits(context, claim, run)
  const commitOrder = new CommitOrder(context, claim, { columns, rowHashes, size: run.batchSize, onCommit })
  try {
    let slice: Slice | undefined
    const limits = batchLimits(context, claim, columns)
    const large = new LargeBatches(context.db, columns)
    const maxRows = () => Math.min(limits.rows, run.batchSize.rows)
    const batches = joinBatches(cutBatches(blocks, position, limits), maxRows, () => large.mayJoin())
    for await (const batch of batches) {
      context.shutdown?.throwIfAborted()
      const ended = await slice?.endedBy()
      if (ended !== undefined) return ended
      slice ??= new Slice(context, claim, began)
      await commitOrder.add(batch)
    }
    return undefined
  } finally {
    // Nothing else may be written under this claim while a batch is in flight, for whatever reason the reading ended.
    await commitOrder.end()
  }
}

function batchLimits({ settings }: ImportContext, { progress }: Claim, columns: Columns) {
  const keyBytes = columns.jsonKeys.map((key) => (key === undefined ? 0 : key.length + 1))
  const isFirst = progress.columns === null
  const { position, batchEnd } = progress
  const isWithinBatch = batchEnd !== null && batchEnd > position
  return {
    rows: settings.BATCH_ROWS,
    keyBytes,
    ...(isFirst && { firstRows }),
    ...(isWithinBatch && { firstEnd: batchEnd }),
  }
}

/** Returns a function that adds each committed batch to the progress of the run. */
function noteCommits(context: ImportContext, claim: Claim, run: RunState): CommitObserver {
  let observed = claim.progress.position
  return ({ rows, end, types, warnings }, rowsFailed, ms) => {
    const rowsApplied = claim.dryRun ? 0 : rows - rowsFailed
    run.progress = {
      ...run.progress,
      types,
      warnings,
      position: end,
      rowsTotal: run.progress.rowsTotal + rows,
      rowsApplied: run.progress.rowsApplied + rowsApplied,
      rowsFailed: run.progress.rowsFailed + rowsFailed,
    }
    run.tries = 0
    run.lease.renewed()
    context.onBatch?.({ rowsApplied, rowsFailed, bytes: end - observed, ms })
    observed = end
  }
}

/**
 * Returns the columns, and the position to read from: the end of the last committed batch, or the start of the first
 * row.
 */
async function openFile(context: ImportContext, claim: Claim): Promise<{ columns: Columns; position: number }> {
  checkSize(claim)
  const { options } = claim
  const { columns: names, types, warnings, spellingCounts, previewedKeys, position } = claim.progress
  if (names === null) return await inspectFile(context, claim, options)
  const registered = withPreviewed(await registeredKeys(context.db, claim.appId), previewedKeys, types)
  const columns = new Columns(names, { settled: types, registered, warnings, spellingCounts, options })
  checkDeclaredTypes(columns)
  return { columns, position }
}

/**
 * Throws `FileError` if storage has accepted a file over the size limit, or of another size than the client declared
 * (design.md §3, Sizes).
 */
function checkSize({ byteSize, storedSize, contentType }: Claim): void {
  if (storedSize === null) return
  if (storedSize > limits.uploadBytes[contentType])
    throw new FileError(fileMessages.tooLarge(limits.uploadBytes[contentType]))
  if (byteSize !== null && storedSize !== byteSize) {
    throw new FileError(fileMessages.wrongSize(storedSize, byteSize))
  }
}
