import { connect, type Socket } from 'node:net'
import { createApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { registerUsers } from '@sluice/profiles'
import { beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { peakMemory } from '../memory/peak-memory.ts'
import { type ApiProcess, startApi } from './api-process.ts'

/** The memory limit of an API pod in the chart, bytes. */
const memoryLimit = 512 * 2 ** 20

let database: TestDatabase
let api: ApiProcess
beforeAll(async () => {
  database = await openTestDatabase()
  // The attack sends 360 MB from one process. On a busy machine, its last request has no headers for more than 10 s.
  const timeouts = { API_HEADERS_TIMEOUT: '60s', API_BODY_TIMEOUT: '90s' }
  api = await startApi(database.url, { RATE_LIMIT_BULK_IMPORT_V2: '1000/60s', ...timeouts })
  return async () => {
    await api.stop()
    await database.close()
  }
})

async function newApp(users: string[] = []) {
  const { appId, apiToken } = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
  await registerUsers(database.db, appId, users)
  return { appId, token: apiToken }
}

async function post(path: string, token: string, body: string | Buffer<ArrayBuffer>) {
  const headers = { 'Content-Type': 'application/json', 'X-Service-Token': token }
  const answer = await fetch(api.url + path, { method: 'POST', headers, body })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: await answer.text() }
}

/** Makes a registration of 9 MB. */
function largeRegistration(): Buffer<ArrayBuffer> {
  const userIds = Array.from({ length: 9_000 }, (_, index) => `${index}${'\u{1f600}'.repeat(250)}`)
  return Buffer.from(JSON.stringify({ user_ids: userIds }))
}

test.runIf(process.platform === 'linux')(
  'large bodies at the same moment are accepted one by one or answered 503; memory stays under the chart’s limit',
  async () => {
    const [attacker, other] = [await newApp(), await newApp(['u1'])]
    const large = largeRegistration()
    const update = JSON.stringify({ user_id: 'u1', user_profiles: [{ key: 'age', type: 'int', value: 1 }] })
    const attack = Promise.all(Array.from({ length: 40 }, () => post('/v1/users', attacker.token, large)))
    attack.catch(() => {}) // it is awaited below
    const beside: number[] = []
    for (let request = 0; request < 10; request++) {
      beside.push((await post('/v2/user_profiles', other.token, update)).status)
    }
    const answers = await attack
    expect(await peakMemory(api.pid)).toBeLessThan(memoryLimit)
    expect(beside).toEqual(beside.map(() => 202))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 503]))
    for (const { status, retryAfter, body } of answers) {
      if (status !== 503) continue
      expect(retryAfter).toBe('1')
      expect(JSON.parse(body)).toEqual({
        error: { messages: ['Too many large requests are in flight. Please wait 1 second.'] },
      })
    }
    const { rows } = await sql`select count(*)::int as users from users where app_id = ${attacker.appId}`.execute(
      database.db,
    )
    expect(rows).toEqual([{ users: 9_000 }])
    expect((await post('/v1/users', attacker.token, large)).status, 'afterwards').toBe(202)
  },
  120_000,
)

test('slow files of one app occupy only its share of the uploads; another app’s file is accepted meanwhile', async () => {
  const [attacker, other] = [await newApp(), await newApp()]
  const path = '/v2/user_profiles/bulk_import'
  const head = [
    ...[`POST ${path} HTTP/1.1`, 'Host: a', `X-Service-Token: ${attacker.token}`],
    ...['Content-Type: text/csv', 'Content-Length: 1000000', '', 'user_id,a\n'],
  ].join('\r\n')
  const { hostname, port } = new URL(api.url)
  const refused = new Set<Socket>()
  const sockets = Array.from({ length: 30 }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.on('data', (chunk) => void (/^HTTP\/1\.1 503 /.test(String(chunk)) && refused.add(socket)))
    socket.write(head)
    return socket
  })
  await until('the share to be used up', () => refused.size === 20)
  const headers = { 'Content-Type': 'text/csv', 'X-Service-Token': other.token }
  const answer = await fetch(api.url + path, { method: 'POST', headers, body: 'user_id,a\nu1,1\n' })
  expect(answer.status).toBe(202)
  expect(refused.size).toBe(20)
  for (const socket of sockets) socket.destroy()
})
