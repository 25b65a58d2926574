import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { compareWithModel } from '../faults/harness/comparison.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { slowBatches, untilRows } from '../faults/harness/import-states.ts'
import { type Standby, startStandby } from './postgres-standby.ts'

// `DATABASE_URL` names both servers. The harness itself reads from the one that is the primary.
let deployment: Deployment
let standby: Standby
beforeAll(async () => {
  deployment = await startDeployment({
    workers: 2,
    pooler: async (databaseUrl, { directUrl, dataDirectory }) => {
      standby = await startStandby(directUrl, dataDirectory)
      const other = new URL(standby.url).port
      return { url: databaseUrl.replace(/:(\d+)\//, `:$1,127.0.0.1:${other}/`), close: standby.close }
    },
  })
})
afterAll(() => deployment.close())

test('the primary dies in the middle of imports: the promoted standby applies the lost tail again, in order', async () => {
  const promoted: Deployment = { ...deployment, db: standby.connection.db }
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

  // From here on the primary commits what the standby never receives.
  standby.replication.set({ kind: 'stall' })
  const committed = await untilRows(deployment, first, (await untilRows(deployment, first, 0)) + 200)
  const [pid] = (await readFile(join(deployment.postgres.dataDirectory, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGQUIT')
  const killedAt = performance.now()
  await standby.promote()
  const survived = await untilRows(promoted, first, 0)
  expect(survived).toBeLessThan(committed)

  await untilRows(promoted, first, survived + 1)
  const recoveryMs = Math.round(performance.now() - killedAt)
  console.log(`${committed - survived} rows were lost; progress again after ${recoveryMs} ms`)
  expect(recoveryMs).toBeLessThan(30_000)
  await slowBatches(promoted.db, 0)
  expect((await compareWithModel(promoted, apps)).violations).toEqual([])
}, 180_000)
