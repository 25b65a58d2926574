import { gunzipSync } from 'node:zlib'
import { showImport } from '@sluice/imports'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { storedProfiles } from '../environment/database.ts'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { changesIn, countsOf, replay, withValues } from '../imports/changed-files.ts'
import { type ClientApp, openClientApp, upload } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { type Deployment, startDeployment } from './harness/deployment.ts'
import { generateSoundFile } from './harness/generate.ts'
import {
  claimant,
  logged,
  slowBatches,
  untilInTrigger,
  untilLogged,
  untilRows,
  untilState,
} from './harness/import-states.ts'

// Workers that die, hang or are stopped, with a deployment's default settings except for small batches.
let deployment: Deployment
const apps: ClientApp[] = []
const random = seeded(3)

beforeAll(async () => {
  deployment = await startDeployment({ workers: 2 })
})

afterEach(async () => {
  deployment.storageFaults.set(undefined)
  await slowBatches(deployment.db, 0)
  expect((await compareWithModel(deployment, apps)).violations).toEqual([])
})

afterAll(() => deployment.close())

/** Starts an import of a new app with slow batches, and waits until some rows are committed. */
async function importInProgress(rows: number, keepsChanges = false): Promise<string> {
  await slowBatches(deployment.db, 100)
  const app = await openClientApp(deployment)
  await deployment.db.updateTable('apps').set({ keep_changes: keepsChanges }).where('app_id', '=', app.appId).execute()
  apps.push(app)
  const importId = await upload(deployment, app, generateSoundFile(random, apps.length, rows))
  await untilRows(deployment, importId, 200)
  return importId
}

test('a killed worker is replaced, and its import makes progress again within 30 s', async () => {
  const importId = await importInProgress(2_000)
  const worker = await claimant(deployment, importId, 1)
  await untilInTrigger(deployment.db)
  worker.kill('SIGKILL')
  await worker.exited
  const killedAt = performance.now()
  await slowBatches(deployment.db, 0)
  const rows = await untilRows(deployment, importId, 0)
  await untilRows(deployment, importId, rows + 1)
  const recoveryMs = Math.round(performance.now() - killedAt)
  console.log(`progress again ${recoveryMs} ms after the worker was killed`)
  expect(recoveryMs).toBeLessThan(30_000)
})

test('a stopped worker that wakes up after its successor has taken over cannot write', async () => {
  const importId = await importInProgress(12_000)
  const sleeper = await claimant(deployment, importId, 1)
  await untilInTrigger(deployment.db)
  sleeper.kill('SIGSTOP')
  const successor = await claimant(deployment, importId, 2)
  expect(successor.pid).not.toBe(sleeper.pid)
  await untilRows(deployment, importId, (await untilRows(deployment, importId, 0)) + 1)
  sleeper.kill('SIGCONT')
  const refusal = await untilLogged(deployment, importId, 'claim lost')
  expect(refusal).toMatchObject({ pid: sleeper.pid, attempt: 1, msg: 'claim lost: another worker has the import' })
})

test('a worker that is killed while it stores a changes file leaves the whole file to its successor', async () => {
  const [arrived, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  deployment.storageFaults.set(({ method, path }) => {
    if (method !== 'PUT' || !path.includes('changes-1')) return undefined
    arrived.resolve()
    return { kind: 'hold', until: release.promise }
  })
  const importId = await importInProgress(400, true)
  await slowBatches(deployment.db, 0)
  await arrived.promise
  const worker = await claimant(deployment, importId, 1)
  worker.kill('SIGKILL')
  await worker.exited
  release.resolve()
  await untilState(deployment, importId, 'completed')
  const view = await showImport(deployment.db, deployment.api, { appId: 'any', importId })
  const file = await fetch(view?.changes_file_url ?? '')
  const lines = await changesIn(gunzipSync(Buffer.from(await file.arrayBuffer())).toString())
  expect(lines.length).toBeGreaterThan(0)
  expect(view?.changes?.values).toEqual(countsOf(lines))
  const [profiles, left] = [await storedProfiles(deployment, apps.at(-1)?.appId ?? 0), replay({}, lines)]
  expect(withValues(left)).toEqual(withValues(profiles))
})

describe('SIGTERM', () => {
  test('lets a worker finish its batch, release its claim and end within 10 s', async () => {
    const importId = await importInProgress(3_000)
    const worker = await claimant(deployment, importId, 1)
    const stoppedAt = performance.now()
    worker.kill('SIGTERM')
    expect(await worker.exited).toBe(0)
    expect(performance.now() - stoppedAt).toBeLessThan(10_000)
    await claimant(deployment, importId, 2)
    const rows = await untilRows(deployment, importId, 0)
    expect(rows).toBeLessThan(3_000)
    expect(logged(deployment, importId, 'import released: this worker shuts down')).toHaveLength(1)
  })

  test('lets another worker continue at once, however long the lease', async () => {
    const patient = await startDeployment({ workers: 2, env: { IMPORT_LEASE: '5m' } })
    onTestFinished(() => patient.close())
    await slowBatches(patient.db, 100)
    const app = await openClientApp(patient)
    const importId = await upload(patient, app, generateSoundFile(random, 0, 2_000))
    const worker = await claimant(patient, importId, 1)
    worker.kill('SIGTERM')
    expect(await worker.exited).toBe(0)
    await slowBatches(patient.db, 0)
    await untilState(patient, importId, 'completed')
    expect(logged(patient, importId, 'import claimed')).toHaveLength(2)
  })

  test('ends a worker within 10 s even in the middle of storing an error file', async () => {
    const release = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    deployment.storageFaults.set(({ method, path }) => {
      if (method !== 'PUT' || !path.includes('errors-1')) return undefined
      arrived.resolve()
      return { kind: 'hold', until: release.promise }
    })
    const importId = await importInProgress(400)
    await slowBatches(deployment.db, 0)
    await arrived.promise
    const worker = await claimant(deployment, importId, 1)
    const stoppedAt = performance.now()
    worker.kill('SIGTERM')
    expect(await worker.exited).toBe(0)
    expect(performance.now() - stoppedAt).toBeLessThan(10_000)
    release.resolve()
    expect(logged(deployment, importId, 'import released: this worker shuts down')).toHaveLength(1)
  })

  test('of one worker after another: each import continues in another worker without waiting for its lease', async () => {
    const imports: string[] = []
    for (let number = 0; number < 4; number++) imports.push(await importInProgress(4_000))
    const old = deployment.workers()
    for (const worker of old) {
      worker.kill('SIGTERM')
      expect(await worker.exited).toBe(0)
      await until('the replacement', () => deployment.workers().length === old.length)
    }
    await slowBatches(deployment.db, 0)
    for (const importId of imports) await untilState(deployment, importId, 'completed')
    const gaps = imports.flatMap((importId) => {
      const lines = deployment.log.filter(({ import_id }) => import_id === importId)
      return lines.flatMap((line, index) => {
        const next = lines[index + 1]
        return line.msg === 'import released: this worker shuts down' && next
          ? Date.parse(next.time) - Date.parse(line.time)
          : []
      })
    })
    console.log(`imports continued ${gaps.join(', ')} ms after they were released`)
    expect(gaps.length).toBeGreaterThanOrEqual(imports.length)
    // While a worker is replaced, the other worker may have too few slots for all imports. A lost claim would show that
    // an import had to wait for its lease.
    expect(Math.max(...gaps)).toBeLessThan(20_000)
    for (const importId of imports) expect(logged(deployment, importId, 'claim lost')).toEqual([])
  })
})
