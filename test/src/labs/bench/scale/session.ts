import { type Database, sql } from '@sluice/database'
import { embeddedStorageAccess } from '@sluice/local-stack'
import { openStorage, type Storage } from '@sluice/storage'
import { startRedis } from '../../../environment/redis.ts'
import { openScratch } from '../../../environment/scratch.ts'
import { until } from '../../../environment/wait.ts'
import { type RunningStack, startStack } from '../../../stack/running-stack.ts'

/** The longest time that imports may take together, ms. */
export const deadlineMs = 30 * 60_000

/** Sluice as `npm start` runs it, with its queues in a separate Redis. */
export interface ScaleSession extends AsyncDisposable {
  stack: RunningStack
  db: Database
  storage: Storage
}

/** Starts Sluice with `workers` worker processes, and further settings. Throws if there is no redis-server. */
export async function openScaleSession(workers: number, env: Record<string, string> = {}): Promise<ScaleSession> {
  const parts = new AsyncDisposableStack()
  try {
    const scratch = parts.use(await openScratch('sluice-bench-scale-'))
    const redis = await startRedis(scratch.path, { ofItsOwn: true })
    if (redis === undefined) throw new Error('this benchmark needs a redis-server on the path')
    parts.defer(redis.stop)
    const stack = await startStack({ workers, redisUrl: redis.url, env: { LOG_LEVEL: 'warn', ...env } })
    parts.defer(stack.stop)
    const { storage: endpoint } = await stack.info()
    const storage = openStorage({ S3_ENDPOINT: endpoint, ...(await embeddedStorageAccess(stack.home, {})) })
    parts.defer(storage.close)
    return { stack, db: stack.db, storage, [Symbol.asyncDispose]: () => parts.disposeAsync() }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

/**
 * Creates apps without members, so that nothing is mailed, each with the users `user-1` to `user-<users>`. Returns
 * their IDs.
 */
export async function makeApps({ db }: ScaleSession, apps: number, users: number): Promise<number[]> {
  const { rows } = await sql<{ app_id: number }>`
    insert into apps (name) select 'bench' from generate_series(1, ${apps}::integer) returning app_id`.execute(db)
  const appIds = rows.map((row) => row.app_id)
  await sql`
    insert into users (app_id, user_id)
    select app_id, 'user-' || n from unnest(${appIds}::integer[]) app_id, generate_series(1, ${users}::integer) n
  `.execute(db)
  await sql`vacuum (analyze) users`.execute(db)
  return appIds
}

/** Queues `times` imports of a stored file for each of the apps, at one moment. Returns the imports' IDs. */
export async function queueFile(
  { db, storage }: ScaleSession,
  appIds: readonly number[],
  objectKey: string,
  times = 1,
): Promise<string[]> {
  const stored = await storage.stat(objectKey)
  const { rows } = await sql<{ import_id: string }>`
    insert into imports (app_id, source, state, object_key, content_type, etag, stored_size, queued_at)
    select app_id, 'v3', 'queued', ${objectKey}, 'text/csv', ${stored?.etag}, ${stored?.byteSize}::bigint, now()
    from generate_series(1, ${times}::integer), unnest(${appIds}::integer[]) app_id
    returning import_id
  `.execute(db)
  return rows.map((row) => row.import_id)
}

/** Waits until all imports have completed. Returns when the first began and the last ended, by Postgres's clock, ms. */
export async function spanOf(
  { db }: ScaleSession,
  importIds: readonly string[],
  deadlineMs: number,
): Promise<{ queued: number; began: number; ended: number; rows: number }> {
  return await until(
    `the end of ${importIds.length} imports`,
    async () => {
      const { rows } = await sql<{
        open: number
        failed: number
        queued: Date
        began: Date
        ended: Date
        rows: number
      }>`
        select count(*) filter (where finished_at is null) as open, count(*) filter (where state = 'failed') as failed,
          min(queued_at) as queued, min(started_at) as began, max(finished_at) as ended,
          sum(rows_applied)::bigint as rows
        from imports where import_id = any(${importIds}::uuid[])
      `.execute(db)
      const [span] = rows
      if (span === undefined || span.failed > 0) throw new Error(`${span?.failed} imports failed`)
      if (span.open > 0) return undefined
      const { queued, began, ended } = span
      return { queued: queued.getTime(), began: began.getTime(), ended: ended.getTime(), rows: span.rows }
    },
    deadlineMs,
  )
}

/** Makes a file with three values a row. A small file is the beginning of a large one, so that types are the same. */
export function fileOf(rows: number): Buffer {
  const lines = Array.from({ length: rows }, (_, row) => `user-${row + 1},City ${row % 997},${row % 90},${row}.5\n`)
  return Buffer.from(`user_id,city,age,score\n${lines.join('')}`)
}
