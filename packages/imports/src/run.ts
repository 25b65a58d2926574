import { setTimeout as delay } from 'node:timers/promises'
import { limits } from '@sluice/contract'
import { FileError, readRows } from '@sluice/csv'
import { isConnectionFailure } from '@sluice/database'
import type { MailId } from '@sluice/mail'
import { KeyLimitExceeded, registeredKeys } from '@sluice/profiles'
import { ObjectGone, ObjectReplaced } from '@sluice/storage'
import { inImportTrace } from '@sluice/traces'
import { CommitOrder } from './batch/commit-order.ts'
import { cutBatches } from './batch/cut.ts'
import { withPreviewed } from './batch/dry-run.ts'
import type { ImportContext } from './context.ts'
import { Columns } from './file/columns.ts'
import { inspectFile } from './file/inspect.ts'
import { openSource } from './file/source.ts'
import { type Claim, ClaimLost, handBack, type Progress, postpone, returnTry } from './order/claim.ts'
import { noteSlotTime } from './order/fair-order.ts'
import { keepLease, type Lease } from './order/lease.ts'
import { isOutage } from './order/outage.ts'
import { Slice } from './order/slice.ts'
import { makeRoomAfter } from './result/disk-full.ts'
import { finish } from './result/finish.ts'

/**
 * How a claim ended: `completed` and `failed` end the import; `postponed` (an error that may pass), `interrupted` (this worker
 * shuts down) and `released` (its slice is over, and other apps wait) gave it back; `lost` means that another worker has it,
 * `cancelled` that nobody has it any more.
 */
export type Outcome =
  | { outcome: 'completed' | 'failed'; mails: MailId[] }
  | { outcome: 'postponed' | 'interrupted' | 'released' | 'lost' | 'cancelled' }

/**
 * Runs a claimed import from its last committed position to its end.
 *
 * Takes the claim and a signal: when it aborts, the batch under way is committed and the import handed back. Only a
 * database that is away for good makes it throw; the import is then found again by its lease. It never waits for longer
 * than a lease for a database that does not answer.
 */
export async function runImport(context: ImportContext, claim: Claim, shutdown: AbortSignal): Promise<Outcome> {
  const began = performance.now()
  const ended = await inImportTrace('import', claim.importId, () => runClaim(context, claim, shutdown))
  // After a claim is lost, Postgres may not answer.
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
    return await Promise.race([work({ ...context, log, shutdown: stop }, claim, lease), rejection(lease.expired)])
  } catch (error) {
    if (!(error instanceof ClaimLost)) throw error
    // Where the database did not answer for a lease, it is not asked why.
    if (lease.expired.aborted) void untilAnswered(() => returnTry(context, claim), shutdown).catch(() => {})
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

/** What changes while a claim is worked on. */
interface RunState {
  progress: Progress
  tries: number
  lease: Lease
}

/** Runs the import as long as the claim holds. Throws {@link ClaimLost}. */
async function work(context: ImportContext, claim: Claim, lease: Lease): Promise<Outcome> {
  const state = { progress: claim.progress, tries: claim.tries, lease }
  try {
    if (claim.tries > context.settings.IMPORT_ATTEMPTS) throw new GivenUp(context.settings.IMPORT_ATTEMPTS)
    if (!(await applyRows(context, claim, state))) return await release(context, claim, state)
    const mails = await finish(context, claim, state.progress, { state: 'completed' }, false)
    context.log.info({ ...counts(state.progress) }, 'import completed')
    return { outcome: 'completed', mails }
  } catch (error) {
    return await endAfter(error, context, claim, state)
  }
}

/** Rejects with the signal's reason when it aborts. */
function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

/** Every try ended without progress, also those that took their worker down with them. */
class GivenUp extends Error {
  override readonly name = 'GivenUp'

  constructor(attempts: number) {
    super(`could not be processed in ${attempts} attempts`)
  }
}

/** An import shows progress, or its first error, early: its first batch is a small one. */
const firstRows = 1_000

/**
 * Applies the rest of the file, batch by batch, while the next ones are read. Returns false if the slice ended before the file;
 * at least one batch is committed then. Throws an AbortError when the process shuts down, after the batches in flight.
 */
async function applyRows(context: ImportContext, claim: Claim, state: RunState): Promise<boolean> {
  const began = performance.now()
  const { columns, position } = await openFile(context, claim)
  state.progress = { ...state.progress, columns: [...columns.names], types: columns.types, position }
  const blocks = readRows(openSource(context, claim, position), { position, columns: columns.names.length })
  let observed = claim.progress.position
  const line = new CommitOrder(context, claim, columns, claim.progress, ({ rows, end, types }, rowsFailed, ms) => {
    const { rowsTotal, rowsApplied: appliedBefore, rowsFailed: failedBefore } = state.progress
    const rowsApplied = claim.dryRun ? 0 : rows - rowsFailed
    state.progress = {
      ...state.progress,
      types,
      position: end,
      rowsTotal: rowsTotal + rows,
      rowsApplied: appliedBefore + rowsApplied,
      rowsFailed: failedBefore + rowsFailed,
    }
    state.tries = 0
    state.lease.renewed()
    context.onBatch?.({ rowsApplied, rowsFailed, bytes: end - observed, ms })
    observed = end
  })
  try {
    const keyBytes = columns.jsonKeys.map((key) => (key === undefined ? 0 : key.length + 1))
    const limits = { rows: context.settings.BATCH_ROWS, keyBytes }
    const isFresh = claim.progress.columns === null
    let slice: Slice | undefined
    for await (const batch of cutBatches(blocks, position, isFresh ? { ...limits, firstRows } : limits)) {
      context.shutdown?.throwIfAborted()
      if (await slice?.isOver()) return false
      slice ??= new Slice(context, claim, began)
      await line.add(batch)
    }
    return true
  } finally {
    // Whatever ended the reading, what is under way is over before anything else is written under this claim.
    await line.end()
  }
}

/** The columns and where to read on: from the last committed batch, or from a first look at the file. */
async function openFile(context: ImportContext, claim: Claim): Promise<{ columns: Columns; position: number }> {
  checkSize(claim)
  const { columns, types, previewedKeys, position } = claim.progress
  if (columns === null) return await inspectFile(context, claim)
  const registered = withPreviewed(await registeredKeys(context.db, claim.appId), previewedKeys, types)
  return { columns: new Columns(columns, types, registered), position }
}

/** Storage that does not hold uploads to their signed length is found out here (design.md §3, Sizes). */
function checkSize({ byteSize, storedSize, contentType }: Claim): void {
  if (storedSize === null) return
  if (storedSize > limits.uploadBytes[contentType])
    throw new FileError(`file size over ${limits.uploadBytes[contentType]} bytes`)
  if (byteSize !== null && storedSize !== byteSize) {
    throw new FileError(`the uploaded file has ${storedSize} bytes instead of ${byteSize}`)
  }
}

/** Decides what an error means for the import: its end, another try, or nothing, since it is in other hands. */
async function endAfter(error: unknown, context: ImportContext, claim: Claim, state: RunState): Promise<Outcome> {
  // Whoever lost the claim may hear of it by another error first: a successor's rows are in the way, say. What is written
  // below finds out.
  if (error instanceof ClaimLost) throw error
  if (isInterruption(error, context)) return await interrupt(context, claim, state)
  const reason = finalReason(error) ?? (await lastTryReason(error, context, state))
  return reason === undefined
    ? await tryAgain(error, context, claim, state)
    : await fail(error, reason, context, claim, state)
}

/** Reading or storing was ended by this process's shutdown. */
function isInterruption(error: unknown, { shutdown }: ImportContext): boolean {
  return shutdown?.aborted === true && error instanceof Error && error.name === 'AbortError'
}

/** Lets another app have the slot. The import goes on later, from its position and before all others of its app. */
async function release(context: ImportContext, claim: Claim, state: RunState): Promise<Outcome> {
  await handBack(context, claim)
  context.log.info({ position: state.progress.position }, 'import released: its slice is over, and other apps wait')
  return { outcome: 'released' }
}

async function interrupt(context: ImportContext, claim: Claim, state: RunState): Promise<Outcome> {
  await handBack(context, claim)
  context.log.info({ position: state.progress.position }, 'import handed back')
  return { outcome: 'interrupted' }
}

/** Ends the import as failed. What keeps it from that, such as storage that takes no error file, is reason for another try. */
async function fail(
  error: unknown,
  reason: string,
  context: ImportContext,
  claim: Claim,
  state: RunState,
): Promise<Outcome> {
  try {
    const mails = await finish(
      context,
      claim,
      state.progress,
      { state: 'failed', error: reason },
      error instanceof GivenUp || isLastTry(context, state),
    )
    const logged = error instanceof FileError ? error.forLog : reason
    context.log.warn({ err: error, ...counts(state.progress) }, `import failed: ${logged}`)
    return { outcome: 'failed', mails }
  } catch (failure) {
    if (failure instanceof ClaimLost) throw failure
    if (isInterruption(failure, context)) return await interrupt(context, claim, state)
    return await tryAgain(failure, context, claim, state)
  }
}

/** Gives the import back for another try, as soon as Postgres answers. A try that ended by an outage does not count. */
async function tryAgain(error: unknown, context: ImportContext, claim: Claim, state: RunState): Promise<Outcome> {
  await makeRoomAfter(error, context)
  const outage = await isOutage(error, context)
  const tries = Math.max(state.tries, 1)
  const pause = await untilAnswered(() => postpone(context, claim, tries, outage, error), context.shutdown)
  context.log.warn({ err: error, tries: state.tries, outage, retry_in_ms: pause }, 'import postponed')
  return { outcome: 'postponed' }
}

function isLastTry({ settings }: ImportContext, { tries }: RunState): boolean {
  return tries >= settings.IMPORT_ATTEMPTS
}

/** Pause before Postgres is asked again, ms. */
const reconnectDelay = 500
/** A connection that does not open takes 10 s. After so many tries the import is found by its lease alone. */
const reconnectTries = 100

/** Repeats a statement while no connection to Postgres can be used. Throws its last error when the signal aborts. */
async function untilAnswered<Result>(statement: () => Promise<Result>, stop: AbortSignal | undefined): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await statement()
    } catch (error) {
      if (!isConnectionFailure(error) || tries === reconnectTries || stop?.aborted) throw error
      await delay(reconnectDelay, undefined, { signal: stop }).catch(() => {}) // one last try
    }
  }
}

/** Why the import fails after this try, if this was the last one and the file may be at fault. */
async function lastTryReason(error: unknown, context: ImportContext, state: RunState): Promise<string | undefined> {
  if (!isLastTry(context, state) || (await isOutage(error, context))) return undefined
  return new GivenUp(context.settings.IMPORT_ATTEMPTS).message
}

/** Why the import fails for good, in words for its owner; undefined if another try may succeed. */
function finalReason(error: unknown): string | undefined {
  if (error instanceof FileError || error instanceof KeyLimitExceeded || error instanceof GivenUp) return error.message
  if (error instanceof ObjectGone) return 'the uploaded file is gone'
  return error instanceof ObjectReplaced ? 'the uploaded file was replaced' : undefined
}

function counts(progress: Progress) {
  return { rows_total: progress.rowsTotal, rows_applied: progress.rowsApplied, rows_failed: progress.rowsFailed }
}
