import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type Connection, connect, sql } from '@sluice/database'
import { startPostgres } from '@sluice/local-stack'
import pg from 'pg'
import { startTcpProxy, type TcpProxy } from '../faults/harness/tcp-proxy.ts'

export interface Standby {
  /** Its address. Until it is promoted, it accepts no writes. */
  url: string
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
  const folder = await mkdtemp(join(tmpdir(), 'sluice-standby-'))
  const copy = join(folder, basename(dataDirectory))
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
  const connection = connect(server.url, { connections: 4 })
  return {
    url: server.url,
    connection,
    replication,
    promote: async () => void (await sql`select pg_promote()`.execute(connection.db)),
    async close() {
      await connection.close()
      await server.stop()
      await replication.close()
      await rm(folder, { recursive: true, force: true })
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
