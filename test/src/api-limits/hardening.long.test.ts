import { request } from 'node:http'
import { createApp } from '@sluice/accounts'
import { beforeAll, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { startApi } from './api-process.ts'

// The end of a process whose clients are slow. hardening.test.ts has everything else.
const bulkImport = '/v3/user_profiles/bulk_import'

const database = openBeforeAll(openTestDatabase)
let token: string
beforeAll(async () => {
  token = (await createApp(database.db, { name: 'Test', email: 'member@example.com' })).apiToken
})

test('clients that keep their connections busy do not delay the end of the process', async () => {
  const stopping = await startApi(database.url)
  const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json', 'Content-Length': 2 }
  const announced = request(`${stopping.url}${bulkImport}`, {
    method: 'POST',
    headers: { ...headers, Expect: '100-continue' },
  })
  const closed = Promise.withResolvers<void>()
  announced.on('close', closed.resolve)
  // On a busy machine, the API may answer 408 for the body before the process ends.
  announced.on('error', () => {})
  announced.on('response', (response) => response.resume())
  const continued = Promise.withResolvers<void>()
  announced.on('continue', continued.resolve)
  announced.flushHeaders()
  await continued.promise
  await stopping.stop()
  await closed.promise
})
