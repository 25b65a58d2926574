import { sql } from '@sluice/database'
import { registerUsers } from '@sluice/profiles'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from './harness/client.ts'
import { startDeployment } from './harness/deployment.ts'
import { write } from './harness/generate.ts'
import { untilRows, untilState } from './harness/import-states.ts'
import { throughProxy } from './harness/servers.ts'
import { startTcpProxy } from './harness/tcp-proxy.ts'

const users = Array.from({ length: 12_000 }, (_, index) => `person-${index}`)

test.each([
  ['because its worker is cut off', 0],
  ['and began before Postgres’s clock was set back by an hour', -3_600],
])(
  'a copy of new profiles that stalls halfway %s does not block other writers for good',
  async (_, clockStep) => {
    const deployment = await startDeployment({ workers: 0, env: { BATCH_ROWS: '5000' }, setsClock: clockStep !== 0 })
    const network = await startTcpProxy(() => Number(new URL(deployment.databaseUrl).port))
    onTestFinished(async () => {
      await deployment.close()
      await network.close()
    })
    await deployment.addWorker({ env: { DATABASE_URL: throughProxy(deployment.databaseUrl, network) } })
    const app = await openClientApp(deployment)
    await registerUsers(deployment.db, app.appId, users)
    const rows = users.map((user) => [Buffer.from(user), Buffer.from(user.padEnd(100, '.'))])
    const table = { header: ['user_id', 'note'], rows }

    // Slow from the beginning, so that no copy ends before the test sees it.
    network.set({ kind: 'slow', bytesPerSecond: 100_000 })
    const importId = await upload(deployment, app, {
      table,
      bytes: write(table),
      contentType: 'text/csv',
      refusal: undefined,
    })
    await until('a copy that waits for rows', async () => {
      const found = await sql`
      select from pg_stat_activity where query like 'copy %' and state = 'active' and wait_event = 'ClientRead'
    `.execute(deployment.db)
      return found.rows.length > 0
    })
    network.set({ kind: 'stall' })
    await deployment.postgres.clock?.set(clockStep)
    const before = await untilRows(deployment, importId, 0)
    expect(before).toBeLessThan(users.length)

    await deployment.addWorker({})
    await untilState(deployment, importId, 'completed')
    expect(await untilRows(deployment, importId, 0)).toBe(users.length)
    const { profiles } = await deployment.db
      .selectFrom('profiles')
      .select(({ fn }) => fn.countAll<number>().as('profiles'))
      .where('app_id', '=', app.appId)
      .executeTakeFirstOrThrow()
    expect(profiles).toBe(users.length)
  },
  120_000,
)
