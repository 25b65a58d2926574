import { setTimeout as delay } from 'node:timers/promises'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { createAccessKey } from '@sluice/access-keys'
import { auditLogPage } from '@sluice/audit-log'
import { pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import { sql } from '@sluice/database'
import { expect, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { appSettings } from '../faults/harness/app-settings.ts'
import { openClientApp, retry } from '../faults/harness/client.ts'
import { bulkImport, declare, ended, put, requestImport, updateAge } from '../stack/client.ts'
import { logicalPostgres, runMove, startCell, storageOf } from './cell.ts'

/** A request whose answer was lost leaves an import without a file, for which the next ones wait. */
const orderWait = { UPLOAD_ORDER_WAIT: '1s' }
const users = Array.from({ length: 300 }, (_, index) => `u${index}`)

/** Returns the port of an S3 gateway, by what it reported. */
const portOf = (info: Record<string, unknown>) => (info.address as { port: number }).port

test('an app moves while clients write and its command is killed: nothing is lost or doubled, and its old addresses go on', async () => {
  const random = seeded(48)
  const second = await startCell(1, { ...logicalPostgres, env: { CELLS: '1=http://127.0.0.1:1', ...orderWait } })
  const [dashboard, gateway] = [await second.addServer('dashboard'), await second.addServer('s3-gateway')]
  const dashboardUrl = String(dashboard.info.url)
  const first = await startCell(0, {
    ...logicalPostgres,
    env: {
      ...storageOf(second),
      ...orderWait,
      CELLS: `1=${second.api}`,
      CELL_DASHBOARDS: `1=${dashboardUrl}`,
      CELL_S3_GATEWAYS: `1=http://127.0.0.1:${portOf(gateway.info)}`,
    },
  })
  const [oldDashboard, oldGateway] = [await first.addServer('dashboard'), await first.addServer('s3-gateway')]
  const app = await openClientApp(first)
  await sql`insert into users select ${app.appId}, 'u' || n from generate_series(0, ${users.length - 1}) n`.execute(
    first.db,
  )

  const { ENCRYPTION_KEYS: keys } = readSettings(appSettings, ['ENCRYPTION_KEYS'])
  const credentials = await createAccessKey(first.db, keys, app.appId)

  const stop = new AbortController()
  const imports: string[] = []
  const importing = (async () => {
    for (let number = 1; !stop.signal.aborted; number++) {
      const bytes = Buffer.from(`user_id,n\n${users.map((user) => `${user},${number}`).join('\n')}\nnobody,1\n`)
      const requested = await retry('the request', () => requestImport(first.api, app.token, declare(bytes)))
      await retry('the upload', async () =>
        expect((await put(requested.url, requested.headers, bytes)).status).toBe(200),
      )
      imports.push(requested.importId)
      await delay(1_000)
    }
  })()
  let age = 0
  const updating = (async () => {
    while (!stop.signal.aborted) {
      await retry('the update', async () => {
        const { status } = await updateAge(first.api, app.token, { user: 'u0', age: age + 1 })
        expect(status).toBe(202)
      })
      age++
    }
  })()
  const env = { CELL: '0', CELL_DATABASES: `0=${first.databaseUrl} 1=${second.databaseUrl}` }
  const args = ['--app', String(app.appId), '--to', '1']
  for (let kills = 0; kills < 6; kills++) {
    await runMove(env, args, 300 + random(4_000))
    const here = await first.db.selectFrom('app_moves').select('state').executeTakeFirst()
    if (here?.state === 'left') break
  }
  expect(await runMove(env, args)).toBe(0)
  const before = imports.length
  // The first of them may have been requested before the move.
  await until('an import after the move', () => imports.length >= before + 2)
  stop.abort()
  await Promise.all([importing, updating])

  for (const importId of imports)
    expect(await ended(first.api, app.token, importId)).toMatchObject({
      state: 'completed',
      rows_applied: users.length,
    })
  const { rows } = await sql<{ n: number; age: number; users: number }>`
    select (attributes -> 'n')::integer as n, max((attributes -> 'age')::integer) as age, count(*) as users
    from profiles where app_id = ${app.appId} and user_id like 'u%' group by 1
  `.execute(second.db)
  expect(rows).toEqual([{ n: imports.length, age, users: users.length }])
  const states = [first, second].map(({ db }) => db.selectFrom('app_moves').select(['state', 'cell']).execute())
  expect(await Promise.all(states)).toEqual([[{ state: 'left', cell: 1 }], [{ state: 'here', cell: 0 }]])
  expect((await auditLogPage(first.db, { appId: app.appId, what: 'app.move' }, 1)).entries).toMatchObject([
    { target: 'move, cell 1', outcome: 'done' },
  ])
  expect(await runMove(env, [...args, '--confirm'])).toBe(0)
  const { rows: left } = await sql<{ n: number }>`select count(*) as n from users where app_id = ${app.appId}`.execute(
    first.db,
  )
  expect(left[0]?.n).toBe(0)
  const { error_file_url: link } = (await ended(first.api, app.token, imports[0] ?? '')) as { error_file_url: string }
  // Mails that were sent before the move name the old cell.
  const oldLink = link.replace(second.api, first.api)
  expect((await fetch(oldLink)).status).toBe(200)
  expect((await fetch(`${oldLink}x`)).status).toBe(404)
  const page = `/apps/${app.appId}/imports?state=completed`
  const moved = await fetch(`${oldDashboard.info.url}${page}`, { redirect: 'manual' })
  expect([moved.status, moved.headers.get('location')]).toEqual([302, `${dashboardUrl}${page}`])
  const form = await fetch(`${oldDashboard.info.url}/apps/${app.appId}/operation/pause`, { method: 'POST' })
  expect([form.status, await form.text()]).toEqual([409, expect.stringContaining(`${dashboardUrl}/apps/${app.appId}`)])
  const sender = new S3Client({
    region: 'us-east-1',
    forcePathStyle: true,
    endpoint: `http://127.0.0.1:${portOf(oldGateway.info)}`,
    credentials,
  })
  const target = { Bucket: first.storageSettings.S3_BUCKET, Key: `${pathOf(app.appId)}people.csv` }
  await sender.send(new PutObjectCommand({ ...target, Body: 'user_id,n\nu1,-1\n' }))
  sender.destroy()
  await until('the import of the upload', async () => {
    const found = await sql`select from profiles where app_id = ${app.appId} and attributes -> 'n' = '-1'`.execute(
      second.db,
    )
    return found.rows.length === 1
  })
  const list = await fetch(`${first.api}${bulkImport}`, { headers: { 'X-Service-Token': app.token } })
  expect(((await list.json()) as { imports: unknown[] }).imports.length).toBeGreaterThan(0)
}, 300_000)
