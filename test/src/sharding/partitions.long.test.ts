import { connect, migrate } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { compareWithModel } from '../faults/harness/comparison.ts'
import { startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { partitionByApp, partitionedTables } from './partitioned-tables.ts'
import { logPlans, partsRead, readPlans } from './plans.ts'
import { useEverything } from './use-everything.ts'

/**
 * Joined updates of several apps. The plan names all parts, since each row of the statement chooses its own part while
 * it runs.
 */
const joinedUpdates = /free as materialized \( select g\.\* from given g cross join lateral \( select from profiles p/

test('on tables that are partitioned by app, everything works, and each statement reads one part of a table', async () => {
  const deployment = await startDeployment({
    workers: 1,
    postgresSettings: logPlans,
    async pooler(url, { directUrl }) {
      await migrate(directUrl)
      const { db, close } = connect(directUrl, { connections: 1 })
      await partitionByApp(db)
      await close()
      return { url, close: async () => {} }
    },
  })
  onTestFinished(() => deployment.close())
  const apps = [await openClientApp(deployment), await openClientApp(deployment)]
  for (const app of apps) {
    for (let number = 0; number < 3; number++)
      await upload(deployment, app, generateSoundFile(seeded(number), number, 200))
  }
  expect((await compareWithModel(deployment, apps)).violations).toEqual([])
  for (const app of apps) await useEverything(deployment, app)
  await deployment.stopApps()

  const statements = await readPlans(`${deployment.postgres.dataDirectory}.log`)
  const readers = statements.map((statement) => ({ text: statement.text, parts: partsRead(statement) }))
  for (const table of partitionedTables) {
    expect(readers.filter(({ parts }) => (parts.get(table)?.size ?? 0) === 1).length, table).toBeGreaterThan(0)
  }
  const several = readers.filter(({ parts }) => [...parts.values()].some((read) => read.size > 1))
  expect(several.map(({ text }) => text).filter((text) => !joinedUpdates.test(text))).toEqual([])
}, 180_000)
