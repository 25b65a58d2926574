import { type Database, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { startDeployment } from './harness/deployment.ts'
import { generateSoundFile } from './harness/generate.ts'

test('a worker that loses its connections to Postgres while it opens its queues goes on, and opens them again', async () => {
  const deployment = await startDeployment({ workers: 0 })
  onTestFinished(() => deployment.close())
  const { db, postgres } = deployment
  const worker = await db.transaction().execute(async (tx) => {
    // Whoever opens a queue first reads the version of the queue's tables, and waits here.
    await sql`lock table bullmq.migration in access exclusive mode`.execute(tx)
    const started = await deployment.addWorker({})
    await until('reads of the version', async () => (await countWaiting(db)) >= 3)
    postgres.proxy.reset()
    return started
  })
  const app = await openClientApp(deployment)
  await upload(deployment, app, generateSoundFile(seeded(1), 1, 1_000))
  expect((await compareWithModel(deployment, [app])).violations).toEqual([])
  expect(deployment.workers().map(({ pid }) => pid)).toEqual([worker.pid])
})

/** Returns how many connections of queues wait for a lock. */
async function countWaiting(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where application_name = 'sluice queue' and wait_event_type = 'Lock'
  `.execute(db)
  return rows[0]?.count ?? 0
}
