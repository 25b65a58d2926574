import { addMember } from '@sluice/accounts'
import { runImport } from '@sluice/imports'
import { beforeEach, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { claim, type ImportFixture, queueFile } from '../imports/import-fixture.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { signInAddress } from './sign-in-address.ts'
import { openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { openVisitor } from './visitor.ts'

// The event stream that keeps an import's page up to date.
let dashboard: TestDashboard
let fixture: ImportFixture
let app: { appId: number; email: string }
let cookie: string
let closed: boolean
beforeEach(async () => {
  dashboard = await openTestDashboard()
  fixture = fixtureOf(dashboard)
  app = await openAppWith(dashboard, ['u1'])
  cookie = await cookieOf(app.email)
  closed = false
  return async () => {
    if (!closed) await dashboard.close()
  }
})

/** Signs in. Returns the session cookie. */
async function cookieOf(email: string): Promise<string> {
  const entered = await openVisitor(dashboard).post(await signInAddress(dashboard, email))
  return /sluice_session=[^;]+/.exec(entered.headers.getSetCookie().join())?.[0] ?? ''
}

/** Opens the event stream of an import. `heard` collects the events, and `over` resolves at the end of the stream. */
async function listen(importId: string, own = cookie, appId = app.appId) {
  const stop = new AbortController()
  const response = await fetch(`${dashboard.url}/apps/${appId}/imports/${importId}/events`, {
    headers: { Cookie: own },
    signal: stop.signal,
  })
  const heard = { text: '' }
  const reading = async () => {
    for await (const chunk of response.body ?? []) heard.text += Buffer.from(chunk).toString()
  }
  const over = reading().catch(() => {})
  return { status: response.status, type: response.headers.get('content-type'), heard, over, stop: () => stop.abort() }
}

test('a stream reports an import that another process runs, and ends with the import', async () => {
  const importId = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const { status, type, heard, over } = await listen(importId)
  expect([status, type]).toEqual([200, 'text/event-stream'])
  await until('the state', () => heard.text.includes('a worker takes it within seconds'))
  await runImport(fixture.context, await claim(fixture, app.appId, importId), new AbortController().signal)
  await over
  expect(heard.text).toMatch(/event: parts\ndata: \{"progress".*Completed.*\n\nevent: ended\ndata:\n\n$/)
})

test('a stream sends only the parts that have changed, and nothing while nothing changes', async () => {
  const first = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const second = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const { heard, stop, over } = await listen(second)
  await until('the first parts', () => heard.text.includes('which is queued'))
  await claim(fixture, app.appId, first)
  await until('the next', () => heard.text.includes('which is running'))
  const [, , last = ''] = heard.text.split('event: parts\ndata: ')
  expect(Object.keys(JSON.parse(last))).toEqual(['progress'])
  stop()
  await over
})

test('a visitor has a bounded number of streams, and a closed stream makes room for a new one', async () => {
  const importId = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const streams = await Promise.all(Array.from({ length: 20 }, () => listen(importId)))
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
  expect((await listen(importId)).status).toBe(503)
  for (const { stop } of streams) stop()
  await until('room', async () => {
    const again = await listen(importId)
    again.stop()
    return again.status === 200
  })
})

test('the members of an app together have a bounded share of the streams, and another app has its own share', async () => {
  const importId = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const emails = Array.from({ length: 12 }, (_, index) => `member-${index}@example.com`)
  for (const email of emails) await addMember(dashboard.db, app.appId, email)
  const cookies = await Promise.all(emails.map((email) => cookieOf(email)))
  const streams = await Promise.all(cookies.flatMap((own) => Array.from({ length: 20 }, () => listen(importId, own))))
  const refused = streams.filter(({ status }) => status === 503)
  expect(refused).toHaveLength(240 - 40)
  await refused[0]?.over
  expect(JSON.parse(refused[0]?.heard.text ?? '')).toEqual({
    status: 'too_many_streams',
    error: { messages: ['Too many pages of this app are open. Load the page again to see changes.'] },
  })

  const other = await openAppWith(dashboard, ['u1'])
  const otherImport = await queueFile(fixture, other.appId, 'user_id,a\nu1,1\n')
  const { status, stop } = await listen(otherImport, await cookieOf(other.email), other.appId)
  expect(status).toBe(200)
  for (const stream of [...streams, { stop }]) stream.stop()
})

test('open streams do not delay a shutdown', async () => {
  const importId = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const streams = await Promise.all(Array.from({ length: 3 }, () => listen(importId)))
  const started = performance.now()
  closed = true
  await dashboard.close()
  await Promise.all(streams.map(({ over }) => over))
  expect(performance.now() - started).toBeLessThan(5_000)
})
