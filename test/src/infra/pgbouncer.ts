import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../environment/free-port.ts'
import { endChild, killAtExit } from '../environment/program.ts'

export interface Pooler {
  /** The database's address through the pooler. */
  url: string
  close(): Promise<void>
}

/**
 * Starts PgBouncer with its default configuration in front of all databases of a server. PgBouncer refuses to run as
 * root. If the tests run as root, PgBouncer runs as `nobody`.
 */
export async function startPgBouncer(databaseUrl: string): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pgbouncer-'))
  await chmod(folder, 0o755)
  const { hostname, port, username, password } = new URL(databaseUrl)
  const [users, configuration] = [join(folder, 'userlist.txt'), join(folder, 'pgbouncer.ini')]
  await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`)
  const ownPort = await freePort()
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ownPort}`,
    'unix_socket_dir =',
    `auth_file = ${users}`,
  ]
  await writeFile(configuration, `${lines.join('\n')}\n`)
  const user = process.getuid?.() === 0 ? ['--user=nobody'] : []
  const child = spawn('pgbouncer', [...user, configuration], { stdio: ['ignore', 'ignore', 'pipe'] })
  killAtExit(child)
  await listening(child)
  const url = new URL(databaseUrl)
  url.port = String(ownPort)
  return {
    url: url.href,
    async close() {
      await endChild(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Waits until PgBouncer says that it is up. Throws with its log if it ends before. */
async function listening(child: ChildProcess): Promise<void> {
  const log: string[] = []
  if (child.stderr === null) throw new Error('the log of PgBouncer is not read')
  for await (const line of createInterface({ input: child.stderr })) {
    log.push(line)
    if (line.includes('process up')) break
  }
  child.stderr.resume()
  if (!log.at(-1)?.includes('process up')) throw new Error(`PgBouncer ended: ${log.join('\n')}`)
}
