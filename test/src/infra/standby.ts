import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Connection, connect, sql } from '@sluice/database'
import { startPostgres } from '@sluice/local-stack'
import pg from 'pg'
import { openScratch } from '../environment/scratch.ts'
import { startTcpProxy, type TcpProxy } from '../faults/harness/tcp-proxy.ts'

/** Ends a server at once, as `pg_ctl stop --mode=immediate` does. */
export async function killPostgres(dataDirectory: string): Promise<void> {
  const [pid] = (await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGQUIT')
}

/** A server that receives what another one commits, and can take its place. */
export interface Standby {
  /** Its address. Until it is promoted, it accepts no writes. */
  url: string
  dataDirectory: string
  connection: Connection
  /** The network between the primary and the standby. */
  replication: TcpProxy
  /** Makes the standby a primary. */
  promote(): Promise<void>
  close(): Promise<void>
}

/** Files of a running server that a copy of its directory must not have. */
const ownFiles = new Set(['postmaster.pid', 'postmaster.opts'])

/** Copies the directory of a running primary, and starts a standby on the copy. */
export async function startStandby(primaryUrl: string, dataDirectory: string): Promise<Standby> {
  const scratch = await openScratch('sluice-standby-')
  const copy = join(scratch.path, basename(dataDirectory))
  await copyRunning(primaryUrl, dataDirectory, copy)
  const { port, username, password } = new URL(primaryUrl)
  const replication = await startTcpProxy(() => Number(port))
  await writeFile(join(copy, 'standby.signal'), '')
  const server = await startPostgres({
    dataDirectory: copy,
    port: 0,
    settings: {
      fsync: 'off',
      shared_buffers: '32MB',
      primary_conninfo: `host=127.0.0.1 port=${replication.port} user=${username} password=${decodeURIComponent(password)}`,
    },
  })
  const connection = connect(server.url, { connections: 4, onError: () => {} })
  return {
    url: server.url,
    dataDirectory: copy,
    connection,
    replication,
    promote: async () => void (await sql`select pg_promote()`.execute(connection.db)),
    async close() {
      await connection.close()
      await server.stop()
      await replication.close()
      await scratch[Symbol.asyncDispose]()
    },
  }
}

/** Copies the directory as Postgres's manual describes for a base backup by the low-level functions. */
async function copyRunning(primaryUrl: string, from: string, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: primaryUrl })
  await client.connect()
  try {
    await client.query("select pg_backup_start('standby', true)")
    await cp(from, to, { recursive: true, filter: (path) => !ownFiles.has(basename(path)) })
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '')
  } finally {
    await client.end()
  }
  // The password of the embedded server is in a file next to its data directory.
  for (const name of await readdir(dirname(from))) {
    if (name === `${basename(from)}.password`) await cp(join(dirname(from), name), join(dirname(to), name))
  }
}
