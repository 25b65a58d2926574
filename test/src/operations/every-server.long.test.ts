import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '@sluice/accounts'
import { startInbox, startS3Endpoint } from '@sluice/local-stack'
import { clientPolicy } from '@sluice/service'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type ApiProcess, startApi } from '../api-limits/api-process.ts'
import { sendRaw } from '../api-limits/raw-connection.ts'
import { openTestDashboard, type TestDashboard } from '../dashboard/test-dashboard.ts'
import { openTestGateway, type TestGateway } from '../s3-gateway/test-gateway.ts'

// Every server of the service enforces the policy for clients that a deployment has.
const names = ['api', 'dashboard', 'gateway', 'storage', 'inbox', 'operations'] as const
type Name = (typeof names)[number]

const urls = new Map<Name, string>()
const urlOf = (name: Name) => urls.get(name) ?? ''
const open: { close(): Promise<unknown> }[] = []
let api: ApiProcess
let dashboard: TestDashboard
let gateway: TestGateway

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-servers-'))
  dashboard = await openTestDashboard()
  gateway = await openTestGateway()
  api = await startApi(dashboard.database.url)
  const storage = await startS3Endpoint({
    root: join(folder, 'storage'),
    ...{ host: '127.0.0.1', port: 0, region: 'us-east-1', buckets: ['files'] },
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  })
  const inbox = await startInbox({ folder, host: '127.0.0.1', httpPort: 0, smtpPort: 0 })
  open.push(storage, inbox, gateway, { close: api.stop }, dashboard, {
    close: () => rm(folder, { recursive: true, force: true }),
  })
  const operations = new URL(api.metrics).origin
  const all = { api: api.url, dashboard: dashboard.url, gateway: gateway.url, storage: storage.url, inbox: inbox.url }
  for (const [name, url] of Object.entries({ ...all, operations })) urls.set(name as Name, url)
})
afterAll(async () => {
  for (const one of open) await one.close()
})

describe.each(names)('%s', (name) => {
  test.each([
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n'],
  ])('refuses a request with %s, and ends the connection', async (_, request) => {
    expect((await sendRaw(urlOf(name), [request])).status).toBe(400)
  })

  test.concurrent('ends a connection whose headers do not end', async () => {
    await sendRaw(urlOf(name), ['GET / HTTP/1.1\r\nHost: a\r\nX-A'])
  })

  test.concurrent('ends a connection whose body continues after a refusal', async () => {
    const path = name === 'api' ? '/v2/user_profiles/bulk_import' : '/nothing'
    const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/csv\r\nContent-Length: 100000000\r\n\r\n`
    const { status } = await sendRaw(urlOf(name), [head, ...Array.from({ length: 150 }, () => 'x')], { pause: 100 })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
  })

  test.concurrent('ends a connection whose answers nobody reads', async () => {
    const { hostname, port } = new URL(urlOf(name))
    const socket = connect(Number(port), hostname).pause()
    onTestFinished(() => void socket.destroy())
    const requests = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1_000)
    const send = () => {
      while (socket.write(requests));
    }
    const closed = new Promise((resolve) => void socket.once('close', resolve))
    socket.on('error', () => {}).on('drain', send)
    send()
    await closed
  })

  test.concurrent('serves other clients during 600 idle connections of one address', async () => {
    const { status } = await fetch(`${urlOf(name)}/healthz`)
    const idle = Array.from({ length: clientPolicy.waiting.perAddress + 100 }, () =>
      sendRaw(urlOf(name), ['GET / HTTP/1.1\r\n']),
    )
    for (let request = 0; request < 5; request++) expect((await fetch(`${urlOf(name)}/healthz`)).status).toBe(status)
    await Promise.all(idle)
  })
})

test('a refused v2 upload is not kept open for as long as a file may take, even with a valid token', async () => {
  const { apiToken } = await createApp(dashboard.db, { name: 'Test', email: 'member@example.com' })
  const head = `POST /v2/user_profiles/bulk_import HTTP/1.1\r\nHost: a\r\nX-Service-Token: ${apiToken}\r\n`
  const answer = await sendRaw(urlOf('api'), [`${head}Content-Type: text/plain\r\nContent-Length: 1000\r\n\r\nx`])
  expect(answer.status).toBe(415)
})
