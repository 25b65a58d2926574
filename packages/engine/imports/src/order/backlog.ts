import { unfinishedImportStates } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { type UnfinishedState, unfinishedStates } from '../states.ts'

/**
 * Class of an app by the number of its waiting imports: one, few (2 to 10), or many. Waits are measured by class,
 * because imports that wait for other imports of their own app say little about the service.
 */
type AppClass = 'one' | 'few' | 'many'

/** The unfinished imports of all apps. */
export interface Backlog {
  states: Record<UnfinishedState, number>
  /**
   * By class, seconds for which the oldest queued import of `waiting_orders` has waited; 0 if none waits.
   */
  oldestWaiting: Record<AppClass, number>
  /** Seconds for which the oldest held import has been held; 0 if none is held. */
  oldestHeld: number
  /** Number of imports and dry runs that run, or would run if a worker were free. Autoscaling uses this number. */
  runnable: number
  /** Number of apps that are paused individually. */
  pausedApps: number
  allPaused: boolean
}

/**
 * Counts the unfinished imports. Reads each of them once, by an index: call it every few seconds, not for every
 * request.
 */
export async function importBacklog(db: Database): Promise<Backlog> {
  const { rows } = await sql<{
    app_class: AppClass
    awaiting_upload: number
    queued: number
    processing: number
    held: number
    oldest: number
    oldest_held: number
    runnable: number
  }>`
    with apps_imports as (
      select imports.app_id,
        count(*) filter (where state = 'awaiting_upload') as awaiting_upload,
        count(*) filter (where state = 'queued') as queued,
        count(*) filter (where state = 'processing') as processing,
        count(*) filter (where state = 'held') as held,
        extract(epoch from now() - min(waits_since) filter (where state = 'queued' and waiting.app_id is not null))::float8 as oldest,
        extract(epoch from now() - min(held_at) filter (where state = 'held'))::float8 as oldest_held
      from imports join apps using (app_id) left join waiting_orders waiting using (app_id, dry_run)
        cross join lateral greatest(queued_at, resumed_at) waits_since
      where state in ${unfinishedStates} group by imports.app_id
    )
    select case when queued <= 1 then 'one' when queued <= 10 then 'few' else 'many' end as app_class,
      sum(awaiting_upload)::bigint as awaiting_upload, sum(queued)::bigint as queued, sum(processing)::bigint as processing, sum(held)::bigint as held,
      coalesce(max(oldest), 0) as oldest, coalesce(max(oldest_held), 0) as oldest_held,
      (select runnable_imports()) as runnable
    from apps_imports group by 1
  `.execute(db)
  const backlog: Backlog = {
    states: { awaiting_upload: 0, queued: 0, processing: 0, held: 0 },
    oldestWaiting: { one: 0, few: 0, many: 0 },
    oldestHeld: 0,
    runnable: 0,
    ...(await countPauses(db)),
  }
  for (const row of rows) {
    for (const state of unfinishedImportStates) backlog.states[state] += row[state]
    backlog.oldestWaiting[row.app_class] = row.oldest
    backlog.oldestHeld = Math.max(backlog.oldestHeld, row.oldest_held)
    backlog.runnable = row.runnable
  }
  return backlog
}

async function countPauses(db: Database): Promise<Pick<Backlog, 'pausedApps' | 'allPaused'>> {
  const { rows } = await sql<{ paused_apps: number; all_paused: boolean }>`
    select (select count(*) from apps where paused_at is not null) as paused_apps,
      exists (select from service_pause) as all_paused
  `.execute(db)
  return { pausedApps: rows[0]?.paused_apps ?? 0, allPaused: rows[0]?.all_paused ?? false }
}
