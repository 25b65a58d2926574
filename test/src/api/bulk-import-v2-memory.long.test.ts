import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { createApp } from '@sluice/accounts'
import { expect, test } from 'vitest'
import { startApi } from '../api-limits/api-process.ts'
import { openTestDatabase } from '../environment/database.ts'
import { peakMemory } from '../memory/peak-memory.ts'

const MiB = 2 ** 20

// Only Linux reports the peak memory of a process.
const name = 'bodies of v2 bulk imports go to storage without being in memory as a whole'
test.skipIf(process.platform !== 'linux')(name, async () => {
  const database = await openTestDatabase()
  const api = await startApi(database.url)
  try {
    const { apiToken } = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
    expect(await upload(api.url, apiToken, 1)).toBe(202)
    const before = await peakMemory(api.pid)
    const uploads = Array.from({ length: 4 }, () => upload(api.url, apiToken, 95))
    expect(await Promise.all(uploads)).toEqual([202, 202, 202, 202])
    // Each upload holds parts of 5 MiB, one or two of them in flight, and garbage that is not collected yet.
    expect((await peakMemory(api.pid)) - before).toBeLessThan((4 * 95 * MiB * 2) / 3)
  } finally {
    await api.stop()
    await database.close()
  }
})

/** Sends a file of `megabytes` megabytes. Returns the status of the answer. */
async function upload(url: string, token: string, megabytes: number): Promise<number | undefined> {
  const rows = Buffer.alloc(MiB, 'somebody,1\n')
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const headers = { 'X-Service-Token': token, 'Content-Type': 'text/csv' }
  const request = httpRequest(`${url}/v2/user_profiles/bulk_import`, { method: 'POST', headers }, (response) => {
    text(response).then(() => resolve(response.statusCode), reject)
  })
  request.on('error', reject)
  request.write('user_id,n\n')
  for (let sent = 0; sent < megabytes; sent++) {
    if (!request.write(rows)) await new Promise((drained) => request.once('drain', drained))
  }
  request.end()
  return await promise
}
