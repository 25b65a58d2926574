import { prepared, type RawBuilder, sql } from '@sluice/database'
import type { ImportContext, ImportId } from '../context.ts'
import { type ClaimedImport, claimImport } from './claim.ts'
import { isPaused } from './pause.ts'

// The order in which workers claim the dispatched imports of all apps (design.md §3, Fairness).

/**
 * Bytes of a file that count as one second of a slot, since imports of small files go first. A rough figure is enough.
 */
const bytesPerSecond = { 'text/csv': 4_000_000, 'application/gzip': 400_000 } as const

/** After this many slices, slot time that an app has used counts half. */
const halfLifeSlices = 10

/** Maximum slot time that is counted for an app, in slices. */
const maxSlices = 3

/**
 * Number of imports that one lookup returns. If other workers claim the first ones at the same moment, a further one
 * may remain.
 */
const candidates = 4

/** The import `i` is dispatched, and no worker has claimed it. */
const isWaiting = sql`(i.dispatched_at is not null and i.state in ('queued', 'processing'))`

/** The app of `i` already runs an import of the other kind: `i` is a dry run beside an import, or the reverse. */
const runsBeside = sql`
  exists (select from imports e where e.app_id = i.app_id and e.dry_run = not i.dry_run and e.state = 'processing')`

/**
 * Claims the import that runs next. An app that runs nothing precedes an app that already runs an import. Among equals,
 * the import with the least time is next: the slot time that its app has used lately, plus the time that the import
 * itself will need, at most a slice. Both count less the longer the import waits, so that every import runs at some
 * point.
 *
 * Returns undefined if no import waits.
 */
export async function claimNext(context: ImportContext): Promise<ClaimedImport | undefined> {
  for (;;) {
    const waiting = await nextWaiting(context, candidates)
    if (waiting.length === 0) return undefined
    for (const id of waiting) {
      const claim = await claimImport(context, id)
      if (claim !== undefined) return claim
      // Another worker was faster, or the import is no longer next in order. It is dispatched again when it is.
      await withdrawDispatch(context, id)
    }
  }
}

/**
 * Withdraws the dispatch of the import that is next, because this worker drops its job. The import is dispatched again
 * at once.
 */
export async function withdrawNext(context: ImportContext): Promise<void> {
  for (const id of await nextWaiting(context, 1)) await withdrawDispatch(context, id)
}

/** Returns how many imports wait for a worker. The queue must hold as many jobs. */
export async function countWaiting({ db }: Pick<ImportContext, 'db'>): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from imports i where ${isWaiting}`.execute(
    db,
  )
  return rows[0]?.waiting ?? 0
}

async function nextWaiting({ db, settings }: ImportContext, limit: number): Promise<ImportId[]> {
  const sliceSeconds = settings.IMPORT_SLICE / 1000
  const rate = sql`case i.content_type when 'text/csv' then ${bytesPerSecond['text/csv']}::float8
    else ${bytesPerSecond['application/gzip']}::float8 end`
  const cost = sql`least(${sliceSeconds}::float8, coalesce(i.stored_size, i.byte_size) / ${rate})`
  const { rows } = await prepared<{ app_id: number; import_id: string }>`
    select i.app_id, i.import_id from imports i left join import_slot_time t on t.app_id = i.app_id
    where ${isWaiting}
    order by ${runsBeside},
      coalesce(t.seconds * ${faded(sql`t.noted_at`, sliceSeconds)}, 0)
        + ${cost} * ${faded(sql`greatest(i.queued_at, t.noted_at)`, sliceSeconds)},
      i.dispatched_at
    limit ${limit}
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, importId: row.import_id }))
}

/** Returns an expression for the share with which a figure still counts, if it counted fully at the time `since`. */
function faded(since: RawBuilder<unknown>, sliceSeconds: number): RawBuilder<number> {
  const age = sql`extract(epoch from now() - ${since})::float8`
  return sql`power(0.5::float8, least(100, greatest(0, ${age}) / ${sliceSeconds * halfLifeSlices}::float8))`
}

async function withdrawDispatch({ db }: ImportContext, { appId, importId }: ImportId): Promise<void> {
  await db
    .updateTable('imports')
    .set({ dispatched_at: null })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('dispatched_at', 'is not', null)
    .execute()
}

/**
 * Adds the time that a claim used its slot to the time that its app has used. A crash may lose this figure without
 * harm.
 */
export async function noteSlotTime({ db, settings }: ImportContext, appId: number, usedMs: number): Promise<void> {
  const sliceSeconds = settings.IMPORT_SLICE / 1000
  const [seconds, most] = [usedMs / 1000, sliceSeconds * maxSlices]
  await prepared`
    with lazily as (select set_config('synchronous_commit', 'off', true))
    insert into import_slot_time as t (app_id, seconds, noted_at)
    select ${appId}::integer, least(${seconds}::float8, ${most}::float8), now() from lazily
    on conflict (app_id) do update set noted_at = now(),
      seconds = least(t.seconds * ${faded(sql`t.noted_at`, sliceSeconds)} + ${seconds}::float8, ${most}::float8)
  `.execute(db)
}

/** Why a running import may have to release its slot. */
export interface SlotDemand {
  /** Whether an import of an app that runs nothing has waited for a worker for longer than claiming takes. */
  othersWait: boolean
  /** Whether the app runs both an import and a dry run. */
  runsBeside: boolean
  /** The app is paused, or all apps are. */
  isPaused: boolean
}

/**
 * Looks up why a running import may have to release its slot. Ignores imports that were dispatched less than `graceMs`
 * ago: a worker may be claiming them.
 */
export async function lookUpSlotDemand(
  { db }: ImportContext,
  { appId, dryRun }: Pick<ClaimedImport, 'appId' | 'dryRun'>,
  graceMs: number,
): Promise<SlotDemand> {
  const { rows } = await prepared<{ others_wait: boolean; runs_beside: boolean; is_paused: boolean }>`
    select
      exists (
        select from imports i
        where ${isWaiting} and i.dispatched_at < now() - make_interval(secs => ${graceMs / 1000}::float8)
          and i.app_id <> ${appId} and not ${runsBeside}
      ) as others_wait,
      exists (
        select from imports i
        where i.app_id = ${appId} and i.dry_run = ${!dryRun}::boolean and i.state = 'processing'
      ) as runs_beside,
      ${isPaused(sql`${appId}`)} as is_paused
  `.execute(db)
  const [found] = rows
  return {
    othersWait: found?.others_wait ?? false,
    runsBeside: found?.runs_beside ?? false,
    isPaused: found?.is_paused ?? false,
  }
}
