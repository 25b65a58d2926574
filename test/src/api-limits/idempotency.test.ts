import { once } from 'node:events'
import { connect } from 'node:net'
import { createApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { type ApiProcess, startApi } from './api-process.ts'

// Idempotency keys with real processes: lost responses, crashes and rate limits.
const path = '/v3/user_profiles/bulk_import'
const body = JSON.stringify({ checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12' })
const settings = { RATE_LIMIT_BULK_IMPORT: '3/600s', RATE_LIMIT_TIMEOUT: '10s' }

let database: TestDatabase
let api: ApiProcess
beforeAll(async () => {
  database = await openTestDatabase()
  api = await startApi(database.url, settings)
})
afterAll(async () => {
  await api.stop()
  await database.close()
})

async function openApp() {
  const { appId, apiToken } = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
  return {
    appId,
    headers: { 'Content-Type': 'application/json', 'X-Service-Token': apiToken, 'Idempotency-Key': 'one' },
  }
}
const importsOf = (appId: number) =>
  database.db.selectFrom('imports').select('import_id').where('app_id', '=', appId).execute()
const post = (url: string, headers: Record<string, string>) => fetch(url + path, { method: 'POST', headers, body })

/** Sends a request and never reads the answer. Returns the socket. */
function sendOnly(url: string, headers: Record<string, string>) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries({ Host: 'x', 'Content-Length': String(body.length), ...headers })
  socket.pause()
  socket.on('error', () => {})
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
  return socket
}

// second-day.md §4, Rate limit.
test('repetitions at the same moment and afterwards cost one request of the limit, and have its headers', async () => {
  const { appId, headers } = await openApp()
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(api.url, headers)))
  expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 409)).toEqual([])
  for (let request = 0; request < 5; request++) {
    const answer = await post(api.url, headers)
    expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('2')
    expect(answer.headers.get('x-ratelimit-limit')).toBe('3')
    expect(Number(answer.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000)
  }
  expect(await importsOf(appId)).toHaveLength(1)
  const invalid = await post(api.url, { ...headers, 'Idempotency-Key': 'two words' })
  expect([invalid.status, invalid.headers.get('x-ratelimit-remaining')]).toEqual([400, '1'])
})

test('a request over the rate limit does not use up its key', async () => {
  const { headers } = await openApp()
  for (const key of ['a', 'b', 'c']) await post(api.url, { ...headers, 'Idempotency-Key': key })
  expect((await post(api.url, { ...headers, 'Idempotency-Key': 'd' })).status).toBe(429)
  const rows = await database.db.selectFrom('idempotency_keys').select('key').where('key', '=', 'd').execute()
  expect(rows).toEqual([])
})

test('a lost response is repeated: one import', async () => {
  const { appId, headers } = await openApp()
  const socket = sendOnly(api.url, headers)
  const [created] = await until('the import', async () =>
    (await importsOf(appId)).length > 0 ? importsOf(appId) : undefined,
  )
  socket.destroy()
  const answer = await post(api.url, headers)
  expect([answer.status, answer.headers.get('x-import-id')]).toEqual([200, created?.import_id])
  expect(await importsOf(appId)).toHaveLength(1)
})

describe('a process that crashes', () => {
  type App = Awaited<ReturnType<typeof openApp>>
  let afterInsert: App & { importId: string | undefined }
  let inBetween: App
  beforeAll(async () => {
    const dying = await startApi(database.url, settings)
    const inserted = await openApp()
    sendOnly(dying.url, inserted.headers)
    const [created] = await until('the import', async () => {
      const imports = await importsOf(inserted.appId)
      return imports.length > 0 && imports
    })
    afterInsert = { ...inserted, importId: created?.import_id }
    inBetween = await openApp()
    const release = await holdResponses()
    const socket = sendOnly(dying.url, inBetween.headers)
    await until('a request that has inserted its import and stores its response', isResponseWaiting)
    process.kill(dying.pid, 'SIGKILL')
    await once(socket.resume(), 'close')
    await release()
  })

  test('a crash after the import was inserted: a repetition at another process finds its response', async () => {
    const { appId, headers, importId } = afterInsert
    const answer = await post(api.url, headers)
    expect([answer.status, answer.headers.get('x-import-id')]).toEqual([200, importId])
    expect(await importsOf(appId)).toHaveLength(1)
  })

  test('a crash between import and response: neither commits, and a repetition begins the only import', async () => {
    const { appId, headers } = inBetween
    expect((await post(api.url, headers)).status).toBe(409)
    expect(await importsOf(appId)).toEqual([])
    await endLease(appId)
    const answer = await post(api.url, headers)
    expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null])
    expect(await importsOf(appId)).toEqual([{ import_id: answer.headers.get('x-import-id') }])
  })
})

/** Ends the lease of an app's claim, which nobody renews any more. Expects that it would have ended within 10 s. */
async function endLease(appId: number): Promise<void> {
  const { rows } = await sql<{ left: number }>`
    select extract(epoch from lease_until - now())::float8 as left from idempotency_keys where app_id = ${appId}
  `.execute(database.db)
  expect(rows).toEqual([{ left: expect.any(Number) }])
  expect(rows[0]?.left).toBeLessThanOrEqual(10)
  await sql`update idempotency_keys set lease_until = now() where app_id = ${appId}`.execute(database.db)
}

const lockKey = 7_001

/** Makes every transaction that stores a response wait until the returned function is called. */
async function holdResponses(): Promise<() => Promise<void>> {
  await sql`
    create function hold_response() returns trigger language plpgsql as $$
      begin
        if new.status is not null then perform pg_advisory_xact_lock(${sql.lit(lockKey)}); end if;
        return new;
      end $$
  `.execute(database.db)
  await sql`
    create trigger hold_response before update on idempotency_keys for each row execute function hold_response()
  `.execute(database.db)
  const locked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const holding = database.db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${lockKey})`.execute(connection)
    locked.resolve()
    await released.promise
    await sql`select pg_advisory_unlock(${lockKey})`.execute(connection)
  })
  await locked.promise
  return async () => {
    released.resolve()
    await holding
    await sql`drop function hold_response cascade`.execute(database.db)
  }
}

async function isResponseWaiting(): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_locks where locktype = 'advisory' and objid = ${lockKey} and not granted
  `.execute(database.db)
  return rows.length > 0
}
