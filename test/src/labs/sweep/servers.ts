import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate } from '@sluice/database'
import { startPostgres } from '@sluice/local-stack'
import { migrateQueue } from '@sluice/queue'
import pg from 'pg'
import { startRedis } from '../../environment/redis.ts'
import { makeReusable, type ReusableDatabase } from '../../environment/reusable-database.ts'
import { openScratch } from '../../environment/scratch.ts'
import { bundle } from '../../faults/harness/bundle.ts'
import { unwatchImports } from '../../faults/harness/watcher.ts'

export interface SweepServers {
  folder: string
  entry: string
  redisUrl: string | undefined
  /** Returns an empty database with all tables. `release` empties it for another run. */
  acquireDatabase(): Promise<{ url: string; release(): Promise<void> }>
  close(): Promise<void>
}

/** Starts Postgres, and Redis if `queue` is `redis`. Bundles the process under test. */
export async function startSweepServers(queue: 'postgres' | 'redis'): Promise<SweepServers> {
  const parts = new AsyncDisposableStack()
  const { path: folder } = parts.use(await openScratch('sluice-sweep-'))
  try {
    const bundling = bundle(entry, join(folder, 'subject'))
    const settings = {
      ...{ fsync: 'off', full_page_writes: 'off', max_connections: '500' },
      // Each lane may move an app, from one database of the server to another.
      ...{ wal_level: 'logical', max_replication_slots: '40', max_wal_senders: '40' },
      ...{ max_logical_replication_workers: '40', max_worker_processes: '48' },
    }
    const postgres = await startPostgres({ dataDirectory: join(folder, 'postgres'), port: 0, settings })
    parts.defer(() => postgres.stop())
    const redis = queue === 'redis' ? await startRedis(folder, { ofItsOwn: true }) : undefined
    if (queue === 'redis' && redis === undefined) throw new Error('there is no redis-server')
    if (redis !== undefined) parts.defer(redis.stop)
    const urls = openDatabases(postgres.url)
    parts.defer(urls.close)
    return {
      folder,
      entry: await bundling,
      redisUrl: redis?.url,
      acquireDatabase: urls.acquire,
      close: () => parts.disposeAsync(),
    }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

/**
 * Creates databases as they are needed. Emptying a database for the next run costs a fraction of creating another one.
 */
function openDatabases(postgresUrl: string) {
  const free: { url: string; database: ReusableDatabase }[] = []
  const admin = new pg.Client(postgresUrl)
  // One client sends one statement at a time.
  let preceding: Promise<unknown> = admin.connect()
  let count = 0

  async function create() {
    const name = `sweep_${++count}`
    preceding = preceding.then(() => admin.query(`create database ${name}`))
    await preceding
    const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href
    await migrate(url)
    await migrateQueue({ databaseUrl: url })
    return { url, database: await makeReusable(url, { ends: 'all', undo: unwatchImports }) }
  }

  return {
    async acquire() {
      const { url, database } = free.pop() ?? (await create())
      return {
        url,
        async release() {
          if (await database.empty()) free.push({ url, database })
          else await database.close()
        },
      }
    },
    async close() {
      for (const { database } of free) await database.close()
      await admin.end()
    },
  }
}

const entry = fileURLToPath(new URL('./subject/entry.ts', import.meta.url))
