import { fileMessages } from '@sluice/contract'
import { FileError } from '@sluice/csv'
import { NothingFound, untilAnswered } from '@sluice/database'
import { KeyLimitExceeded } from '@sluice/profiles'
import { ObjectGone, ObjectReplaced } from '@sluice/storage'
import { ClaimLost, postpone, releaseClaim } from '../order/claim.ts'
import { isOutage, retryPause } from '../order/outage.ts'
import { makeRoomAfter } from '../result/disk-full.ts'
import { finish } from '../result/finish.ts'
import { type Outcome, type Run, rowCounts } from './run.ts'

/**
 * An import was claimed although its tries since the last committed batch are used up (`IMPORT_ATTEMPTS`;
 * design.md §4, 8). This happens if the last try took its worker down, so that no worker recorded the failure.
 */
export class NoTryLeft extends Error {
  override readonly name = 'NoTryLeft'

  constructor(tries: number) {
    super(fileMessages.tooManyAttempts(tries))
  }
}

/**
 * Ends a run after an error. The import fails (design.md §3, File-level errors), or waits for another try. If this
 * process shuts down, the import is only interrupted. Throws {@link ClaimLost} if the claim is lost.
 */
export async function endAfterError(error: unknown, run: Run): Promise<Outcome> {
  // A lost claim may first appear as another error, such as a conflict with rows of the successor. The statements below
  // then throw `ClaimLost`.
  if (error instanceof ClaimLost) throw error
  // A batch found neither the claim nor the position that it continues.
  if (error instanceof NothingFound) throw new ClaimLost()
  if (isInterruption(error, run)) return await interrupt(run)
  const reason = finalReason(error) ?? (await lastTryReason(error, run))
  return reason === undefined ? await tryAgain(error, run) : await fail(error, reason, run)
}

/** Returns whether an error means that the shutdown of this process interrupted reading or storing. */
function isInterruption(error: unknown, { context }: Run): boolean {
  return context.shutdown?.aborted === true && error instanceof Error && error.name === 'AbortError'
}

async function interrupt({ context, claim, progress }: Run): Promise<Outcome> {
  await releaseClaim(context, claim)
  context.log.info({ position: progress.position }, 'import released: this worker shuts down')
  return { outcome: 'interrupted' }
}

/** Ends the import as failed. Tries again if that is impossible, for example because storage refuses the error file. */
async function fail(error: unknown, reason: string, run: Run): Promise<Outcome> {
  const withoutErrorFile = error instanceof NoTryLeft || isLastTry(run)
  try {
    const mails = await finish(run, { state: 'failed', error: reason }, { withoutErrorFile })
    const logged = error instanceof FileError ? error.forLog : reason
    run.context.log.warn({ err: error, ...rowCounts(run) }, `import failed: ${logged}`)
    return { outcome: 'failed', mails }
  } catch (failure) {
    if (failure instanceof ClaimLost) throw failure
    return isInterruption(failure, run) ? await interrupt(run) : await tryAgain(failure, run)
  }
}

/** Releases the claim for another try, as soon as Postgres answers. */
async function tryAgain(error: unknown, run: Run): Promise<Outcome> {
  const { context, claim, tries } = run
  await makeRoomAfter(error, context)
  const counts = await countsAsTry(error, run)
  const pauseMs = retryPause(error, Math.max(tries, 1), counts)
  const batchRows = run.batches === undefined ? claim.progress.batchRows : run.batches.size.forNextTry
  await untilAnswered(() => postpone(context, claim, { pauseMs, counts, batchRows }), context.shutdown)
  context.log.warn({ err: error, tries, counts, batch_rows: batchRows, retry_in_ms: pauseMs }, 'import postponed')
  return { outcome: 'postponed' }
}

/**
 * Returns whether the file may be the cause of an error. It is not the cause of an outage, whose transactions the next
 * tries cut smaller all the same, down to a single row. If a transaction ran out of time, only a single row is proof.
 */
async function countsAsTry(error: unknown, { context, batches }: Run): Promise<boolean> {
  return !batches?.size.mayCutSmaller(error) && !(await isOutage(error, context))
}

function isLastTry({ context, tries }: Run): boolean {
  return tries >= context.settings.IMPORT_ATTEMPTS
}

/** Returns why the import fails, if this was the last try and the file may be the cause; undefined otherwise. */
async function lastTryReason(error: unknown, run: Run): Promise<string | undefined> {
  if (!isLastTry(run) || !(await countsAsTry(error, run))) return undefined
  return new NoTryLeft(run.context.settings.IMPORT_ATTEMPTS).message
}

/** Returns why the import fails for good, in words for its owner; undefined if another try may succeed. */
function finalReason(error: unknown): string | undefined {
  if (error instanceof FileError || error instanceof KeyLimitExceeded || error instanceof NoTryLeft)
    return error.message
  if (error instanceof ObjectGone) return fileMessages.fileGone
  return error instanceof ObjectReplaced ? fileMessages.fileReplaced : undefined
}
