import { unfinishedImportStates } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { type UnfinishedState, unfinishedStates } from '../states.ts'

/**
 * Class of an app by the number of its waiting imports: one, few (2 to 10), or many. Imports that wait for other
 * imports of their own app say little about the service.
 */
type AppClass = 'one' | 'few' | 'many'

/** The unfinished imports of all apps. */
export interface Backlog {
  states: Record<UnfinishedState, number>
  /** Seconds that the oldest waiting import of the class's apps has waited; 0 if none waits. */
  oldestWaiting: Record<AppClass, number>
  /** Imports and dry runs that run, or would run if a worker were free. Autoscaling uses this number. */
  runnable: number
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
    oldest: number
    runnable: number
  }>`
    with apps_imports as (
      select app_id,
        count(*) filter (where state = 'awaiting_upload') as awaiting_upload,
        count(*) filter (where state = 'queued') as queued,
        count(*) filter (where state = 'processing') as processing,
        extract(epoch from now() - min(queued_at) filter (where state = 'queued'))::float8 as oldest
      from imports where state in ${unfinishedStates} group by app_id
    )
    select case when queued <= 1 then 'one' when queued <= 10 then 'few' else 'many' end as app_class,
      sum(awaiting_upload)::bigint as awaiting_upload, sum(queued)::bigint as queued, sum(processing)::bigint as processing,
      coalesce(max(oldest), 0) as oldest, (select runnable_imports()) as runnable
    from apps_imports group by 1
  `.execute(db)
  const backlog: Backlog = {
    states: { awaiting_upload: 0, queued: 0, processing: 0 },
    oldestWaiting: { one: 0, few: 0, many: 0 },
    runnable: 0,
  }
  for (const row of rows) {
    for (const state of unfinishedImportStates) backlog.states[state] += row[state]
    backlog.oldestWaiting[row.app_class] = row.oldest
    backlog.runnable = row.runnable
  }
  return backlog
}
