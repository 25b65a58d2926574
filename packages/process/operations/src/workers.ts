import { type Database, sql } from '@sluice/database'
import { isLost } from './heartbeat.ts'

/** How long a lost worker is kept and shown, minutes. */
const keptMinutes = 60

/** A worker process that runs, or was lost recently. */
export interface AliveWorker {
  host: string
  pid: number
  queues: string[]
  startedAt: Date
  seenAt: Date
  /** The heartbeat is stale: the worker crashed, hangs, or cannot reach Postgres. */
  isLost: boolean
  /** The imports that the worker is running. */
  imports: { appId: number; importId: string; appName: string; rowsTotal: number }[]
}

/**
 * Returns the running workers, and the workers that were lost within the last hour. Workers that stopped are not
 * listed.
 */
export async function listWorkers(db: Database): Promise<AliveWorker[]> {
  await sql`delete from workers where seen_at < now() - make_interval(mins => ${keptMinutes})`.execute(db)
  const { rows } = await sql<{
    host: string
    pid: number
    queues: string[]
    started_at: Date
    seen_at: Date
    is_lost: boolean
    imports: AliveWorker['imports']
  }>`
    select host, pid, queues, started_at, seen_at,
      ${isLost} as is_lost,
      coalesce((
        select json_agg(json_build_object(
          'appId', imports.app_id, 'importId', imports.import_id, 'appName', apps.name, 'rowsTotal', imports.rows_total
        ) order by imports.import_id)
        from imports join apps using (app_id)
        where imports.import_id = any(workers.import_ids)
      ), '[]') as imports
    from workers order by is_lost, host, pid
  `.execute(db)
  return rows.map((row) => ({
    host: row.host,
    pid: row.pid,
    queues: row.queues,
    startedAt: row.started_at,
    seenAt: row.seen_at,
    isLost: row.is_lost,
    imports: row.imports,
  }))
}
