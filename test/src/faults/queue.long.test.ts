import { setTimeout as delay } from 'node:timers/promises'
import { openQueues } from '@sluice/queue'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { type ClientApp, openClientApp, upload } from './harness/client.ts'
import { compareWithModel, untilAllEnded } from './harness/comparison.ts'
import { type Deployment, startDeployment } from './harness/deployment.ts'
import { faults } from './harness/faults.ts'
import { generateSoundFile } from './harness/generate.ts'

// A job carries only an ID, so lost or duplicated jobs do not change any result (design.md §4, No lost work).
describe('a queue in Postgres', () => queueTests('postgres'))
describe.skipIf(inject('redisUrl') === undefined)('a queue in Redis', () => queueTests('redis'))

function queueTests(queue: 'postgres' | 'redis'): void {
  test('that repeatedly loses all jobs delays imports and changes no result', async () => {
    const { deployment, apps } = await start({ workers: 0 })
    const forget = async () => faults['queue: everything forgotten']?.({ deployment, random: seeded(1), durationMs: 0 })
    // No worker processes imports yet, so every job is lost.
    await deployment.addWorker({ env: { WORKER_QUEUES: 'maintenance' } })
    await uploadToEach(deployment, apps, 0)
    await until('the dispatch of all imports', async () => (await countDispatched(deployment)) === apps.length)
    await forget()
    await deployment.addWorker({ env: { WORKER_QUEUES: 'imports,mails' } })
    for (let time = 1; time < 4; time++) {
      await uploadToEach(deployment, apps, time)
      await forget()
    }
    expect((await compareWithModel(deployment, apps)).violations).toEqual([])
    // Each loss adds the 10 s after which a lost job is enqueued again.
  }, 180_000)

  test('that holds every job three times, and jobs of imports that are not next in order, changes no result', async () => {
    const { deployment, apps } = await start({ workers: 2 })
    const store = deployment.redis ? { redisUrl: deployment.redis.url } : { databaseUrl: deployment.databaseUrl }
    const queues = openQueues(store, () => {})
    onTestFinished(() => queues.close())
    for (let time = 0; time < 4; time++) await uploadToEach(deployment, apps, time)
    const over = new AbortController()
    const adding = (async () => {
      for (let round = 0; !over.signal.aborted; round++) {
        const jobs = apps.flatMap(({ appId, files }) =>
          [...files.keys()].flatMap((importId) =>
            [1, 2, 3].map((copy) => ({ id: `${importId}-${round}-${copy}`, payload: { appId, importId } })),
          ),
        )
        await queues.add('imports', jobs)
        await delay(200)
      }
    })()
    await untilAllEnded(deployment, apps, 120_000)
    over.abort()
    await adding
    expect((await compareWithModel(deployment, apps)).violations).toEqual([])
  }, 240_000)

  async function start({ workers }: { workers: number }): Promise<{ deployment: Deployment; apps: ClientApp[] }> {
    const deployment = await startDeployment({ workers, queue })
    onTestFinished(() => deployment.close())
    return { deployment, apps: [await openClientApp(deployment), await openClientApp(deployment)] }
  }
}

async function uploadToEach(deployment: Deployment, apps: readonly ClientApp[], number: number): Promise<void> {
  for (const app of apps) await upload(deployment, app, generateSoundFile(seeded(number), number, 1_000))
}

/** Returns the number of imports that were dispatched and wait for a worker. */
async function countDispatched({ db }: Deployment): Promise<number> {
  const rows = await db
    .selectFrom('imports')
    .select('import_id')
    .where('state', '=', 'queued')
    .where('dispatched_at', 'is not', null)
    .execute()
  return rows.length
}
