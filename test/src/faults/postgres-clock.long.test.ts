import { sql } from '@sluice/database'
import { pauseImports, resumeImports } from '@sluice/imports'
import { expect, onTestFinished, test } from 'vitest'
import { openClientApp } from './harness/client.ts'
import { returnedUsers, sendDeleteAndRegister, untilCompleted } from './harness/deletions.ts'
import { startDeployment } from './harness/deployment.ts'

test.for([10, 3_600])(
  'data from before a deletion does not return, although Postgres’s clock is set back by %i s between the two',
  async (seconds, { skip }) => {
    const deployment = await startDeployment({
      workers: 1,
      setsClock: true,
      env: { S3_GATEWAY_SEARCH_INTERVAL: '1s' },
    })
    onTestFinished(() => deployment.close())
    const { db, postgres } = deployment
    if (postgres.clock === undefined) return skip('libfaketime is not installed')
    const { clock } = postgres
    const app = await openClientApp(deployment)
    await pauseImports(db, undefined)
    await sendDeleteAndRegister(deployment, app, 'deleted-1', () => clock.set(-seconds))
    const { rows } = await sql<{ behind: number }>`
      select ${Date.now()}::float8 / 1000 - extract(epoch from clock_timestamp())::float8 as behind
    `.execute(db)
    expect(rows[0]?.behind).toBeCloseTo(seconds, -1)
    await clock.set(0)
    await resumeImports(db, undefined)
    await untilCompleted(deployment, app, 2)
    expect(await returnedUsers(deployment, app)).toEqual([])
  },
)
