import { describe, expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { compareWithModel } from '../faults/harness/comparison.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { slowBatches, untilRows } from '../faults/harness/import-states.ts'
import { startTcpProxy, type TcpProxy } from '../faults/harness/tcp-proxy.ts'
import { killPostgres, type Standby, startStandby } from './standby.ts'

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
    await killPostgres(deployment.postgres.dataDirectory)
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
