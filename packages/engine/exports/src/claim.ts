import { type Database, isDue, prepared, sql } from '@sluice/database'
import type { ExportContext, ExportId } from './context.ts'

/** Maximum number of exports for which one run of maintenance enqueues jobs. */
const passSize = 100

/** A worker's claim of an export. */
export interface ExportClaim extends ExportId {
  attempt: number
  /** Number of claims that count against the limit of attempts, including this claim. */
  tries: number
  /** The keys to export in order; null for all. */
  keys: string[] | null
}

/** The claim has ended: another worker has the export, or a deletion has restarted it. */
export class ExportClaimLost extends Error {
  override readonly name = 'ExportClaimLost'
}

/** How long a claim stays valid unless it is renewed, ms. Another worker then takes over a dead worker's export. */
const leaseMs = 15_000

/** Number of renewals during one lease. The claim is lost if this many renewals in a row get no answer. */
const renewals = 3

/** Pauses before the second try and each later try, s. If the last try fails, the export fails. */
export const retryPausesSeconds = [5, 30, 120, 600] as const

const longestPauseMs = Math.max(...retryPausesSeconds) * 1000

const uniqueViolation = '23505'

/** Maximum number of tries of an export. A claim beyond it only fails the export. */
export const mostTries = retryPausesSeconds.length + 1

/** When a worker may take over the export `e` of a dead worker: at once, and after longer pauses if it dies again. */
const takenOverAt = sql`e.lease_until + make_interval(
  secs => (array[0, ${sql.raw(retryPausesSeconds.join(', '))}])[least(e.tries, ${sql.lit(mostTries)})]
)`

/**
 * Builds the condition that a worker can claim the export `e`: its worker died, or it waits and no other export of the
 * app runs (second-day.md §3, Exports).
 */
const isClaimable = sql<boolean>`(
  e.state = 'processing' and ${isDue(takenOverAt, leaseMs + longestPauseMs)}
  or e.state = 'queued' and (e.retry_at is null or ${isDue(sql`e.retry_at`, longestPauseMs)})
    and not exists (select from exports r where r.app_id = e.app_id and r.state = 'processing')
)`

/** Returns exports that a worker can claim now, longest wait first, each with the number of its latest attempt. */
export async function dueExports(db: Database): Promise<(ExportId & { attempt: number })[]> {
  const { rows } = await prepared<{ app_id: number; export_id: string; attempt: number }>`
    select app_id, export_id, attempt from exports e where state in ('queued', 'processing') and ${isClaimable}
    order by requested_at limit ${passSize}
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, exportId: row.export_id, attempt: row.attempt }))
}

/**
 * Builds the order in which exports are claimed: by request, but later by the time that the exports of the app have
 * taken in the last day. So an app that used little precedes, and no export waits forever.
 */
const fairOrder = sql`e.requested_at + (
  select coalesce(sum(u.finished_at - u.started_at), interval '0') from exports u
  where u.app_id = e.app_id and u.finished_at > now() - interval '1 day'
)`

/** Claims the export that is first in the fair order; undefined if none waits. */
export async function claimExport({ db }: ExportContext): Promise<ExportClaim | undefined> {
  try {
    const { rows } = await sql<{
      app_id: number
      export_id: string
      attempt: number
      tries: number
      keys: string[] | null
    }>`
      update exports set state = 'processing', attempt = attempt + 1, tries = tries + 1, bytes = 0, retry_at = null,
        started_at = coalesce(started_at, now()), lease_until = now() + make_interval(secs => ${leaseMs / 1000})
      where (app_id, export_id) = (
        select app_id, export_id from exports e where state in ('queued', 'processing') and ${isClaimable}
        order by ${fairOrder} limit 1 for update skip locked
      )
      returning app_id, export_id, attempt, tries, keys
    `.execute(db)
    const [row] = rows
    return row && { appId: row.app_id, exportId: row.export_id, attempt: row.attempt, tries: row.tries, keys: row.keys }
  } catch (error) {
    // Another worker has just claimed another export of the same app.
    if (error instanceof Error && 'code' in error && error.code === uniqueViolation) return undefined
    throw error
  }
}

/** Builds an update of the export's row that changes nothing once the claim is lost. */
export function claimed(db: Database, { appId, exportId, attempt }: ExportClaim) {
  return db
    .updateTable('exports')
    .where('app_id', '=', appId)
    .where('export_id', '=', exportId)
    .where('attempt', '=', attempt)
    .where('state', '=', 'processing')
}

/**
 * Renews the claim from now on, and notes the size of the file so far. The signal aborts with {@link ExportClaimLost}
 * when the claim has ended, or when the database does not answer for a whole lease.
 */
export function keepClaim(
  { db, log }: ExportContext,
  claim: ExportClaim,
  bytesSoFar: () => number,
): { lost: AbortSignal; stop(): void } {
  const lost = new AbortController()
  let unanswered = 0
  const renew = async () => {
    try {
      const { numUpdatedRows } = await claimed(db, claim)
        .set({ lease_until: sql<Date>`now() + make_interval(secs => ${leaseMs / 1000})`, bytes: bytesSoFar() })
        .executeTakeFirst()
      unanswered = 0
      if (numUpdatedRows === 0n) lost.abort(new ExportClaimLost('the export was restarted or ended'))
    } catch (error) {
      log.warn({ err: error, export_id: claim.exportId }, 'claim of an export not renewed')
    }
  }
  const timer = setInterval(() => {
    if (unanswered >= renewals) lost.abort(new ExportClaimLost('its lease could not be renewed'))
    unanswered++
    void renew()
  }, leaseMs / renewals)
  return { lost: lost.signal, stop: () => clearInterval(timer) }
}
