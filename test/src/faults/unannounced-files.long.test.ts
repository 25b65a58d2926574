import { beforeEach, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { type ClientApp, openClientApp } from './harness/client.ts'
import { startDeployment } from './harness/deployment.ts'

// Unannounced files while storage fails to copy one of them and workers die.
const deployment = openBeforeAll(() => startDeployment({ workers: 1, env: { S3_GATEWAY_SEARCH_INTERVAL: '1s' } }))
let app: ClientApp

beforeEach(async () => {
  app = await openClientApp(deployment)
  return () => deployment.storageFaults.set(undefined)
})

const keyOf = (name: string) => `uploads/${app.appId}/${name}`
const put = (name: string) => deployment.storage.write(keyOf(name), Buffer.from('user_id,a\nuser-1,1\n'), 'text/csv')
const isCopyOf = (name: string, source: string | undefined) => source?.endsWith(keyOf(name)) === true

async function imports() {
  return await deployment.db
    .selectFrom('imports')
    .select(['file_name', 'state'])
    .where('app_id', '=', app.appId)
    .orderBy('sequence_number')
    .execute()
}

/** Waits until at least `least` runs have failed to import a file of the app. Returns the number of failures. */
async function untilFailures(least: number): Promise<number> {
  return await until(`${least} failures`, async () => {
    const row = await deployment.db
      .selectFrom('unannounced_file_failures')
      .select('failures')
      .where('app_id', '=', app.appId)
      .executeTakeFirst()
    return row !== undefined && row.failures >= least && row.failures
  })
}

/** Kills the worker, and waits for its replacement. */
async function killWorker(): Promise<void> {
  const [worker] = deployment.workers()
  worker?.kill('SIGKILL')
  await until('the replacement', () => deployment.workers().some(({ pid }) => pid !== worker?.pid))
}

async function expectAllImported(names: readonly string[]): Promise<void> {
  await until('the end of the imports', async () => {
    const found = await imports()
    return found.length >= names.length && found.every(({ state }) => state === 'completed')
  })
  await until('an empty path', async () => {
    const stats = await Promise.all(names.map((name) => deployment.storage.stat(keyOf(name))))
    return stats.every((stat) => stat === undefined)
  })
  expect((await imports()).map((row) => row.file_name)).toEqual(names)
}

test('a later file waits for an earlier file that storage fails to copy, even if workers die', async () => {
  deployment.storageFaults.set(({ copySource }) =>
    isCopyOf('1.csv', copySource) ? { kind: 'answer', status: 503, code: 'SlowDown' } : undefined,
  )
  await put('1.csv')
  await put('2.csv')
  const before = await untilFailures(1)
  await killWorker()
  await untilFailures(before + 2)
  expect(await imports()).toEqual([])

  // Kills the next worker while storage makes the copy.
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let requests = 0
  deployment.storageFaults.set(({ copySource }) => {
    if (!isCopyOf('1.csv', copySource) || requests > 0) return undefined
    requests += 1
    return { kind: 'hold', until: released }
  })
  await until('the copy', () => requests > 0)
  await killWorker()
  release()
  await expectAllImported(['1.csv', '2.csv'])
})

test('a file becomes one import if its worker dies before it removes the file from the path', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let requests = 0
  deployment.storageFaults.set(({ method, path }) => {
    if (method !== 'DELETE' || !path.endsWith(keyOf('1.csv')) || requests > 0) return undefined
    requests += 1
    return { kind: 'hold', until: released }
  })
  await put('1.csv')
  await until('the removal', () => requests > 0)
  await put('2.csv')
  await killWorker()
  await until('the second file', async () => (await imports()).length > 1)
  release()
  await expectAllImported(['1.csv', '2.csv'])
})
