import { request } from 'node:http'
import { createApp } from '@sluice/accounts'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { startApi } from './api-process.ts'

// The end of a process whose clients are slow. hardening.test.ts has everything else.
const database = openBeforeAll(openTestDatabase)
let token: string
beforeAll(async () => {
  token = (await createApp(database.db, { name: 'Test', email: 'member@example.com' })).apiToken
})

/** Requests in flight get 10 s. After 15 s, the process would end by force. */
const longestStopMs = 13_000

test('a client that keeps sending its body delays the end of the process for about 10 s and no longer', async () => {
  const stopping = await startApi(database.url)
  const headers = { 'X-Service-Token': token, 'Content-Type': 'text/csv', 'Content-Length': 2 ** 20 }
  const sending = request(`${stopping.url}/v2/user_profiles/bulk_import`, {
    method: 'POST',
    headers: { ...headers, Expect: '100-continue' },
  })
  const closed = Promise.withResolvers<void>()
  sending.on('close', closed.resolve)
  sending.on('error', () => {})
  const continued = Promise.withResolvers<void>()
  sending.on('continue', continued.resolve)
  sending.flushHeaders()
  await continued.promise
  // Fast enough for the watch over slow bodies.
  const body = setInterval(() => sending.write('x'.repeat(1_024)), 200)
  onTestFinished(() => clearInterval(body))

  const begun = performance.now()
  await stopping.stop()
  expect(performance.now() - begun).toBeLessThan(longestStopMs)
  await closed.promise
})
