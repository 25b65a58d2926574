import { type Database, sql } from '@sluice/database'

/** How many imports an app has waiting: one, few (2 to 10), many. What waits behind the app's own says little of the service. */
type AppClass = 'one' | 'few' | 'many'

/** The imports that have not ended, in all apps. */
export interface Backlog {
  states: Record<'awaiting_upload' | 'queued' | 'processing', number>
  /** How long the oldest waiting import of the class's apps has been waiting, seconds; 0 where none is. */
  oldestWaiting: Record<AppClass, number>
  /** Imports and dry runs that run, or could run now if a worker were free: what the number of workers goes by. */
  runnable: number
}

/** Counts what has not ended. It reads every such import once, by an index: ask every few seconds, not every request. */
export async function importBacklog(db: Database): Promise<Backlog> {
  const { rows } = await sql<{
    app_class: AppClass
    awaiting_upload: number
    queued: number
    processing: number
    oldest: number
    runnable: number
  }>`
    with lines as (
      select app_id,
        count(*) filter (where state = 'awaiting_upload') as awaiting_upload,
        count(*) filter (where state = 'queued') as queued,
        count(*) filter (where state = 'processing') as processing,
        extract(epoch from now() - min(queued_at) filter (where state = 'queued'))::float8 as oldest
      from imports where state in ('awaiting_upload', 'queued', 'processing') group by app_id
    )
    select case when queued <= 1 then 'one' when queued <= 10 then 'few' else 'many' end as app_class,
      sum(awaiting_upload)::bigint as awaiting_upload, sum(queued)::bigint as queued, sum(processing)::bigint as processing,
      coalesce(max(oldest), 0) as oldest, (select runnable_imports()) as runnable
    from lines group by 1
  `.execute(db)
  const backlog: Backlog = {
    states: { awaiting_upload: 0, queued: 0, processing: 0 },
    oldestWaiting: { one: 0, few: 0, many: 0 },
    runnable: 0,
  }
  for (const row of rows) {
    for (const state of ['awaiting_upload', 'queued', 'processing'] as const) backlog.states[state] += row[state]
    backlog.oldestWaiting[row.app_class] = row.oldest
    backlog.runnable = row.runnable
  }
  return backlog
}
