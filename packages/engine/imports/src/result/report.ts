import { fileMessages } from '@sluice/contract'
import { isDue, prepared, sql } from '@sluice/database'
import type { MailId } from '@sluice/mail'
import type { ImportContext } from '../context.ts'
import { type ClaimedImport, ClaimLost, type ClaimRow, claimColumns, claimed, toClaim } from '../order/claim.ts'
import { keepLease } from '../order/lease.ts'
import { isOutage } from '../order/outage.ts'
import { makeRoomAfter } from './disk-full.ts'
import { type End, finish } from './finish.ts'

/** Pause before a failed report is tried again, s. */
const retrySeconds = 10

/**
 * Makes the reports of cancelled imports: the error file of the rows that were read, and the mails. Ends held imports
 * that nobody approved within `HOLD_LIMIT` in the same way, also while they are paused (changes.md §2, The decision).
 * If a process dies, another one makes the report after the lease has run out, as with an import. Any number of
 * processes may run this at once.
 *
 * Returns the mails.
 */
export async function reportCancelled(context: ImportContext): Promise<MailId[]> {
  const mails: MailId[] = []
  for (;;) {
    const claim = context.shutdown?.aborted ? undefined : await claimReport(context)
    if (claim === undefined) return mails
    mails.push(...(await report(context, claim)))
  }
}

/** No held import waits longer for approval. */
const longestHoldMs = 30 * 24 * 60 * 60_000
const isOverdue = isDue(sql`held_until`, longestHoldMs)

/** Claims the report that has waited longest. The increased attempt shuts out the process that claimed it before. */
async function claimReport({ db, settings }: ImportContext): Promise<ClaimedImport | undefined> {
  const longestPause = Math.max(settings.IMPORT_LEASE, retrySeconds * 1000)
  const { rows } = await prepared<ClaimRow>`
    update imports
    set attempt = attempt + 1, tries = tries + 1,
      lease_until = now() + make_interval(secs => ${settings.IMPORT_LEASE / 1000})
    where (app_id, import_id) = (
      select app_id, import_id from imports
      where (report_due or state = 'held' and ${isOverdue}) and (lease_until is null or ${isDue(sql`lease_until`, longestPause)})
      order by lease_until nulls first limit 1 for update skip locked
    )
    returning ${claimColumns}
  `.execute(db)
  return rows[0] === undefined ? undefined : toClaim(rows[0])
}

async function report(context: ImportContext, claim: ClaimedImport): Promise<MailId[]> {
  const log = context.log.child({ app_id: claim.appId, import_id: claim.importId })
  const lease = keepLease({ ...context, log }, claim)
  const signals = [lease.refused, lease.expired, ...(context.shutdown === undefined ? [] : [context.shutdown])]
  try {
    const withoutErrorFile = claim.tries > context.settings.IMPORT_ATTEMPTS
    const { progress } = claim
    const work = { ...context, log, shutdown: AbortSignal.any(signals) }
    const { text } = context.settings.HOLD_LIMIT
    const end: End =
      claim.state === 'held' ? { state: 'failed', error: fileMessages.notApproved(text) } : { state: 'cancelled' }
    const mails = await finish({ context: work, claim, progress }, end, { withoutErrorFile })
    log.info({ rows_applied: progress.rowsApplied }, `${end.state} import reported`)
    return mails
  } catch (error) {
    if (!(error instanceof ClaimLost)) await postponeReport({ ...context, log }, claim, error)
    return []
  } finally {
    lease.stop()
  }
}

/**
 * Postpones the report: by {@link retrySeconds}, or only to the next run if this process shuts down. Neither a shutdown
 * nor an outage counts as a try.
 */
async function postponeReport(context: ImportContext, claim: ClaimedImport, error: unknown): Promise<void> {
  const interrupted = context.shutdown?.aborted === true
  await makeRoomAfter(error, context)
  const counts = !interrupted && !(await isOutage(error, context))
  if (!interrupted) context.log.warn({ err: error, tries: claim.tries }, 'import not reported yet')
  await claimed(context, claim)
    .where(({ eb, or }) => or([eb('report_due', '=', true), eb('state', '=', 'held')]))
    .set({
      lease_until: sql<Date>`now() + make_interval(secs => ${interrupted ? 0 : retrySeconds})`,
      ...(!counts && { tries: sql<number>`greatest(tries - 1, 0)` }),
    })
    .execute()
}
