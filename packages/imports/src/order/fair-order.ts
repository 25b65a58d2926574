import { type RawBuilder, sql } from '@sluice/database'
import type { ImportContext, ImportId } from '../context.ts'
import { type Claim, claimImport } from './claim.ts'

// Which of the imports that wait for a worker runs next, among all apps (design.md §3, Fairness).

/** Imports whose files are small go first. So many bytes count as one second of a slot: a rough figure is enough. */
const bytesPerSecond = { 'text/csv': 4_000_000, 'application/gzip': 400_000 } as const

/** What an app has used of the slots counts half after so many slices, and at most as so many slices. */
const halfLife = 10
const mostSlices = 3

/** Imports that are looked up at a time: other workers claim at the same moment. */
const candidates = 4

/** The import `i` was dispatched, and no worker has claimed it. */
const isWaiting = sql`(i.dispatched_at is not null and i.state in ('queued', 'processing'))`

/** The app of `i` has another run, an import beside a dry run. */
const runsBeside = sql`
  exists (select from imports e where e.app_id = i.app_id and e.dry_run = not i.dry_run and e.state = 'processing')`

/**
 * Claims the import that is to run next. An app that has nothing running goes before an app's second run. Among them it is the
 * import with the least time: what its app has used lately, and what the import itself will use, at most a slice. Both count
 * less the longer it waits, so that every import runs some day.
 *
 * Returns undefined if none waits.
 */
export async function claimNext(context: ImportContext): Promise<Claim | undefined> {
  for (;;) {
    const waiting = await nextWaiting(context, candidates)
    if (waiting.length === 0) return undefined
    for (const id of waiting) {
      const claim = await claimImport(context, id)
      if (claim !== undefined) return claim
      // Another worker was faster, or a preceding import has come since: then it is dispatched again when it is next.
      await withdraw(context, id)
    }
  }
}

/** Returns the turn that a job carried and that this worker cannot use, so that it is dispatched again at once. */
export async function returnTurn(context: ImportContext): Promise<void> {
  for (const id of await nextWaiting(context, 1)) await withdraw(context, id)
}

/** How many imports wait for a worker: as many jobs have to be in the queue. */
export async function countWaiting({ db }: ImportContext): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from imports i where ${isWaiting}`.execute(
    db,
  )
  return rows[0]?.waiting ?? 0
}

async function nextWaiting({ db, settings }: ImportContext, limit: number): Promise<ImportId[]> {
  const slice = settings.IMPORT_SLICE / 1000
  const rate = sql`case i.content_type when 'text/csv' then ${bytesPerSecond['text/csv']}::float8
    else ${bytesPerSecond['application/gzip']}::float8 end`
  const cost = sql`least(${slice}::float8, coalesce(i.stored_size, i.byte_size) / ${rate})`
  const { rows } = await sql<{ app_id: number; import_id: string }>`
    /* prepared */
    select i.app_id, i.import_id from imports i left join import_slot_time t on t.app_id = i.app_id
    where ${isWaiting}
    order by ${runsBeside},
      coalesce(t.seconds * ${faded(sql`t.noted_at`, slice)}, 0)
        + ${cost} * ${faded(sql`greatest(i.queued_at, t.noted_at)`, slice)},
      i.dispatched_at
    limit ${limit}
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, importId: row.import_id }))
}

/** The part that is left of something that counted fully at a time. */
function faded(since: RawBuilder<unknown>, slice: number): RawBuilder<number> {
  const age = sql`extract(epoch from now() - ${since})::float8`
  return sql`power(0.5::float8, least(100, greatest(0, ${age}) / ${slice * halfLife}::float8))`
}

async function withdraw({ db }: ImportContext, { appId, importId }: ImportId): Promise<void> {
  await db
    .updateTable('imports')
    .set({ dispatched_at: null })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('dispatched_at', 'is not', null)
    .execute()
}

/** Notes how long (ms) a claim held its slot. Losing it in a crash costs nothing. */
export async function noteSlotTime({ db, settings }: ImportContext, appId: number, ms: number): Promise<void> {
  const slice = settings.IMPORT_SLICE / 1000
  const [seconds, most] = [ms / 1000, slice * mostSlices]
  await sql`
    /* prepared */
    with lazily as (select set_config('synchronous_commit', 'off', true))
    insert into import_slot_time as t (app_id, seconds, noted_at)
    select ${appId}::integer, least(${seconds}::float8, ${most}::float8), now() from lazily
    on conflict (app_id) do update set noted_at = now(),
      seconds = least(t.seconds * ${faded(sql`t.noted_at`, slice)} + ${seconds}::float8, ${most}::float8)
  `.execute(db)
}

/** What a running import sees of the others. */
export interface Surroundings {
  /** Imports of other apps, which have nothing running, have waited for a worker for longer than claiming takes. */
  othersWait: boolean
  /** The app runs an import and a dry run. */
  runsBeside: boolean
}

/** Looks up who waits beside an import that runs. `grace` is how long claiming may take, ms. */
export async function lookAround(
  { db }: ImportContext,
  { appId, dryRun }: Claim,
  grace: number,
): Promise<Surroundings> {
  const { rows } = await sql<{ others_wait: boolean; runs_beside: boolean }>`
    /* prepared */
    select
      exists (
        select from imports i
        where ${isWaiting} and i.dispatched_at < now() - make_interval(secs => ${grace / 1000}::float8)
          and i.app_id <> ${appId} and not ${runsBeside}
      ) as others_wait,
      exists (
        select from imports i
        where i.app_id = ${appId} and i.dry_run = ${!dryRun}::boolean and i.state = 'processing'
      ) as runs_beside
  `.execute(db)
  const [found] = rows
  return { othersWait: found?.others_wait ?? false, runsBeside: found?.runs_beside ?? false }
}
