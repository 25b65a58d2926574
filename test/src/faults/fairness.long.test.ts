import { showImport } from '@sluice/imports'
import { describe, expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { queueFile } from '../imports/import-fixture.ts'
import { type ClientApp, openClientApp, upload } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { type Deployment, startDeployment } from './harness/deployment.ts'
import { generateSoundFile } from './harness/generate.ts'
import { logged, slowBatches, untilState } from './harness/import-states.ts'

const long = generateSoundFile(seeded(2), 0, 3_000)
const short = generateSoundFile(seeded(3), 1, 20)

describe('one worker, which has two slots', () => {
  test('a small import does not wait for the import and the dry run of another app that hold both slots', async () => {
    const deployment = await start()
    const [greedy, other] = [await openClientApp(deployment), await openClientApp(deployment)]
    const large = [await upload(deployment, greedy, long), await queueDryRun(deployment, greedy)]
    await untilRunning(deployment, large)
    const small = await upload(deployment, other, short)
    await untilState(deployment, small, 'completed', 120_000)
    expect(await ended(deployment, large)).toEqual([])
    await slowBatches(deployment.db, 0)
    for (const importId of large) {
      await untilState(deployment, importId, 'completed', 120_000)
      const view = await showImport(deployment.db, undefined, { appId: 'any', importId })
      expect(view?.rows_total).toBe(long.table.rows.length)
    }
    // Usually the dry run is released, or the import if its slice ends first.
    expect(large.flatMap((importId) => logged(deployment, importId, 'import released'))).not.toEqual([])
  }, 300_000)

  test('a small import does not wait for the large imports of more apps than there are slots', async () => {
    const deployment = await start()
    const crowd = await Promise.all(Array.from({ length: 5 }, () => openClientApp(deployment)))
    const other = await openClientApp(deployment)
    const large = await Promise.all(crowd.map((app) => upload(deployment, app, long)))
    await untilRunning(deployment, large, 2)
    const small = await upload(deployment, other, short)
    await untilState(deployment, small, 'completed', 120_000)
    expect(await ended(deployment, large)).toEqual([])
    await slowBatches(deployment.db, 0)
    expect((await compareWithModel(deployment, [...crowd, other], { timeoutMs: 180_000 })).violations).toEqual([])
  }, 400_000)
})

/** Starts a deployment whose batches take so long that the large imports outlast everything else. */
async function start(): Promise<Deployment> {
  const deployment = await startDeployment({ workers: 1, env: { IMPORT_SLICE: '500ms' } })
  onTestFinished(() => deployment.close())
  await slowBatches(deployment.db, 300)
  return deployment
}

/** Queues a dry run of the long file. Returns the import ID. */
function queueDryRun({ db, storage }: Deployment, { appId }: ClientApp): Promise<string> {
  return queueFile({ database: { db }, storage }, appId, long.bytes, long.contentType, true)
}

/** Waits until `count` of the imports have committed a batch and are running. */
async function untilRunning({ db }: Deployment, importIds: readonly string[], count = importIds.length): Promise<void> {
  await until('the large imports to hold all slots', async () => {
    const rows = await db
      .selectFrom('imports')
      .select('import_id')
      .where('import_id', 'in', importIds)
      .where('state', '=', 'processing')
      .where('position', '>', 0)
      .execute()
    return rows.length === count
  })
}

async function ended({ db }: Deployment, importIds: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('imports')
    .select('import_id')
    .where('import_id', 'in', importIds)
    .where('finished_at', 'is not', null)
    .execute()
  return rows.map((row) => row.import_id)
}
