import { createApp } from '@sluice/accounts'
import { type Connection, connect, sql } from '@sluice/database'
import { startPostgres } from '@sluice/local-stack'
import type { Move } from '@sluice/moves'
import pg from 'pg'
import { openScratch } from '../environment/scratch.ts'
import { migrateCell } from './cell.ts'

/** Two databases, of cells 0 and 1, on a server that can replicate. */
export interface TwoDatabases {
  /** The connections of a service in each cell. */
  services: [Connection, Connection]
  /** An app of cell 0, and its move to cell 1. */
  openMove(): Promise<Move & { apiToken: string }>
  close(): Promise<void>
}

/** Starts a server with the databases of two cells. */
export async function openTwoDatabases(): Promise<TwoDatabases> {
  const scratch = await openScratch('sluice-move-')
  const server = await startPostgres({
    dataDirectory: `${scratch.path}/postgres`,
    port: 0,
    settings: { fsync: 'off', shared_buffers: '32MB', wal_level: 'logical' },
  })
  const urls = await Promise.all([0, 1].map((cell) => createDatabase(server.url, cell)))
  const open = (process?: 'move') =>
    urls.map((url) =>
      connect(url, { connections: 4, lockTimeoutMs: 300, ...(process && { process }), onError: () => {} }),
    )
  const [services, movers] = [open(), open('move')] as [[Connection, Connection], [Connection, Connection]]
  return {
    services,
    async openMove() {
      const { appId, apiToken } = await createApp(services[0].db, { name: 'Shop', email: 'ann@example.com' })
      const [source, target] = urls.map((url, cell) => ({ cell, url, db: movers[cell as 0 | 1].db }))
      if (source === undefined || target === undefined) throw new Error('two databases')
      return { appId, apiToken, source, target }
    },
    async close() {
      await Promise.all([...services, ...movers].map(({ close }) => close()))
      await server.stop()
      await scratch[Symbol.asyncDispose]()
    },
  }
}

async function createDatabase(serverUrl: string, cell: number): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  await client.query(`create database cell_${cell}`)
  await client.end()
  const url = Object.assign(new URL(serverUrl), { pathname: `/cell_${cell}` }).href
  await migrateCell(url, cell)
  return url
}

/** Returns the app's rows of a database, by table. */
export async function countsOf({ db }: Pick<Connection, 'db'>, appId: number): Promise<Record<string, number>> {
  const tables = ['apps', 'members', 'users', 'profiles', 'imports', 'api_tokens', 'profile_keys']
  const found = await Promise.all(
    tables.map(async (name) => {
      const { rows } = await sql<{
        n: number
      }>`select count(*) as n from ${sql.table(name)} where app_id = ${appId}`.execute(db)
      return [name, rows[0]?.n ?? 0] as const
    }),
  )
  return Object.fromEntries(found.filter(([, n]) => n > 0))
}
