import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Connection, connect, sql } from '@sluice/database'
import { startPostgres } from '@sluice/local-stack'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { openScratch } from '../environment/scratch.ts'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { compareWithModel } from '../faults/harness/comparison.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { slowBatches, untilRows } from '../faults/harness/import-states.ts'
import { startTcpProxy, type TcpProxy } from '../faults/harness/tcp-proxy.ts'

/** A deployment whose Postgres has a standby. The harness itself reads from the server that is the primary. */
interface Pair {
  deployment: Deployment
  standby: Standby
  /** Silences the primary's machine, so that nobody closes the connections to it. */
  cutOff(): void
  /** Leads the clients to the promoted standby. */
  moveAddress(): void
}

/** Starts the processes with both servers in `DATABASE_URL`. Nothing moves: the processes find the primary. */
async function startWithBothHosts(): Promise<Pair> {
  return await startPair(async (primaryUrl, standbyUrl) => ({
    url: primaryUrl.replace(/:(\d+)\//, `:$1,127.0.0.1:${new URL(standbyUrl).port}/`),
    moveAddress: () => {},
    close: async () => {},
  }))
}

/**
 * Starts the processes with one host and port, which lead to the primary until the address moves. A machine that takes
 * over an address resets connections that it does not know; a proxy that holds the address may leave them half-open.
 */
async function startWithMovingAddress({ resets = true } = {}): Promise<Pair> {
  let network: TcpProxy | undefined
  const pair = await startPair(async (primaryUrl, standbyUrl) => {
    let target = Number(new URL(primaryUrl).port)
    const proxy = await startTcpProxy(() => target)
    network = proxy
    return {
      url: primaryUrl.replace(/:\d+\//, `:${proxy.port}/`),
      moveAddress() {
        target = Number(new URL(standbyUrl).port)
        proxy.set({ kind: 'fine' })
        if (resets) proxy.reset()
      },
      close: proxy.close,
    }
  })
  return { ...pair, cutOff: () => network?.set({ kind: 'stall' }) }
}

async function startPair(
  lead: (
    primaryUrl: string,
    standbyUrl: string,
  ) => Promise<{ url: string; moveAddress(): void; close(): Promise<void> }>,
): Promise<Pair> {
  const parts: { standby?: Standby; moveAddress?: () => void } = {}
  const deployment = await startDeployment({
    workers: 2,
    pooler: async (databaseUrl, { directUrl, dataDirectory }) => {
      const standby = await startStandby(directUrl, dataDirectory)
      const { url, moveAddress, close } = await lead(databaseUrl, standby.url)
      Object.assign(parts, { standby, moveAddress })
      return {
        url,
        async close() {
          await close()
          await standby.close()
        },
      }
    },
  })
  onTestFinished(() => deployment.close())
  const { standby, moveAddress } = parts
  if (standby === undefined || moveAddress === undefined) throw new Error('no standby')
  return { deployment, standby, cutOff: () => {}, moveAddress }
}

/** Kills the primary at once, as `pg_ctl stop --mode=immediate` does. */
async function killPrimary({ postgres }: Deployment): Promise<void> {
  const [pid] = (await readFile(join(postgres.dataDirectory, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGQUIT')
}

/** Uploads two files for each of two apps, and waits until the standby has rows of the first import. */
async function importsInFlight({ deployment, standby }: Pair, promoted: Deployment) {
  const random = seeded(11)
  await slowBatches(deployment.db, 100)
  const apps = [await openClientApp(deployment), await openClientApp(deployment)]
  const imports: string[] = []
  for (const [index, app] of apps.entries()) {
    for (let number = 0; number < 2; number++) {
      imports.push(await upload(deployment, app, generateSoundFile(random, index * 2 + number, 3_000)))
    }
  }
  const [first = ''] = imports
  await untilRows(deployment, first, 200)
  const received = async () => {
    const found = await standby.connection.db.selectFrom('imports').select('import_id').execute()
    return imports.every((importId) => found.some(({ import_id }) => import_id === importId))
  }
  await until('the standby to know the imports', received)
  await untilRows(promoted, first, 1)
  return { apps, first }
}

describe('the primary dies in the middle of imports: the promoted standby applies the lost tail again, in order', () => {
  test.each([
    ['DATABASE_URL has both hosts', startWithBothHosts, false],
    ['one address moves to the standby', startWithMovingAddress, false],
    ['one address moves to the standby after the machine of the primary went silent', startWithMovingAddress, true],
    [
      'the same, and the connections to the old machine stay half-open',
      () => startWithMovingAddress({ resets: false }),
      true,
    ],
  ] as const)('%s', { timeout: 180_000 }, async (_, start, isSilent) => {
    const pair = await start()
    const { deployment, standby } = pair
    const promoted: Deployment = { ...deployment, db: standby.connection.db }
    const { apps, first } = await importsInFlight(pair, promoted)

    // From here on the primary commits what the standby never receives.
    standby.replication.set({ kind: 'stall' })
    const committed = await untilRows(deployment, first, (await untilRows(deployment, first, 0)) + 200)
    if (isSilent) pair.cutOff()
    await killPrimary(deployment)
    const killedAt = performance.now()
    await standby.promote()
    pair.moveAddress()
    const survived = await untilRows(promoted, first, 0)
    expect(survived).toBeLessThan(committed)

    await untilRows(promoted, first, survived + 1)
    const recoveryMs = Math.round(performance.now() - killedAt)
    console.log(`${committed - survived} rows were lost; progress again after ${recoveryMs} ms`)
    expect(recoveryMs).toBeLessThan(30_000)
    await slowBatches(promoted.db, 0)
    expect((await compareWithModel(promoted, apps)).violations).toEqual([])
  })
})

interface Standby {
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
async function startStandby(primaryUrl: string, dataDirectory: string): Promise<Standby> {
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
