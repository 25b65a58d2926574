import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { addMember } from '@sluice/accounts'
import { runImport } from '@sluice/imports'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { claim, type ImportFixture, queueFile } from '../imports/import-fixture.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { openTestDashboard } from './test-dashboard.ts'
import { signIn } from './visitor.ts'

// The event stream that keeps an import's page up to date. Streams notice changes within a second, so the tests wait at
// the same time, each with an app of its own.
const dashboard = openBeforeAll(openTestDashboard)
let fixture: ImportFixture
beforeAll(async () => {
  fixture = fixtureOf(dashboard)
})

/** Creates an app with the user `u1` and one member, who is signed in. */
async function openSignedIn(at = dashboard) {
  const app = await openAppWith(at, ['u1'])
  return { ...app, cookie: await cookieOf(app.email, at) }
}

/** Signs in. Returns the browser's cookies. */
async function cookieOf(email: string, at = dashboard): Promise<string> {
  return (await signIn(at, email)).cookies()
}

/** Opens the event stream of an import. `heard` collects the events, and `over` resolves at the end of the stream. */
async function listen({ appId, cookie }: { appId: number; cookie: string }, importId: string, at = dashboard) {
  // An aborted `fetch` opens another connection without a request, which the dashboard would close only after 10 s.
  const request = get(`${at.url}/apps/${appId}/imports/${importId}/events`, {
    headers: { Cookie: cookie },
    agent: false,
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const heard = { text: '' }
  const reading = async () => {
    for await (const chunk of response) heard.text += chunk
  }
  const over = reading().catch(() => {})
  const { statusCode: status, headers } = response
  return { status, type: headers['content-type'], heard, over, stop: () => void request.destroy() }
}

test.concurrent('a stream reports an import that another process runs, and ends with the import', async () => {
  const app = await openSignedIn()
  const importId = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const { status, type, heard, over } = await listen(app, importId)
  expect([status, type]).toEqual([200, 'text/event-stream'])
  await until('the state', () => heard.text.includes('a worker takes it within seconds'))
  await runImport(fixture.context, await claim(fixture, app.appId, importId), new AbortController().signal)
  await over
  expect(heard.text).toMatch(/event: parts\ndata: \{"progress".*Completed.*\n\nevent: ended\ndata:\n\n$/)
})

test.concurrent('a stream sends only the parts that have changed, and nothing while nothing changes', async () => {
  const app = await openSignedIn()
  const first = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const second = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const { heard, stop, over } = await listen(app, second)
  await until('the first parts', () => heard.text.includes('which is queued'))
  await claim(fixture, app.appId, first)
  await until('the next', () => heard.text.includes('which is running'))
  const [, , last = ''] = heard.text.split('event: parts\ndata: ')
  expect(Object.keys(JSON.parse(last))).toEqual(['progress'])
  stop()
  await over
})

test.concurrent('a visitor has a bounded number of streams, and a closed stream makes room for a new one', async () => {
  const app = await openSignedIn()
  const importId = await queueFile(fixture, app.appId, 'user_id,a\nu1,1\n')
  const openTen = () => Promise.all(Array.from({ length: 10 }, () => listen(app, importId)))
  // Ten at a time: a person's request whose turn does not come within seconds is refused for that.
  const streams = [...(await openTen()), ...(await openTen())]
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
  expect((await listen(app, importId)).status).toBe(503)
  for (const { stop } of streams) stop()
  await until('room', async () => {
    const again = await listen(app, importId)
    again.stop()
    return again.status === 200
  })
})

test.concurrent('the members of an app together have a bounded share of the streams, and another app has its own share', async () => {
  const { appId } = await openSignedIn()
  const importId = await queueFile(fixture, appId, 'user_id,a\nu1,1\n')
  const emails = Array.from({ length: 6 }, () => `${crypto.randomUUID()}@example.com`)
  for (const email of emails) await addMember(dashboard.db, appId, email)
  const members = await Promise.all(emails.map(async (email) => ({ appId, cookie: await cookieOf(email) })))
  // More than the process has in all: a refused stream must not count.
  const streams: Awaited<ReturnType<typeof listen>>[] = []
  // A few at a time: a person's request whose turn does not come within seconds is refused for that.
  for (const member of members.flatMap((each) => [each, each, each, each])) {
    streams.push(...(await Promise.all(Array.from({ length: 10 }, () => listen(member, importId)))))
  }
  const statuses = Object.groupBy(streams, ({ status }) => status ?? 0)
  const refused = statuses[503] ?? []
  const counts = Object.fromEntries(Object.entries(statuses).map(([status, same]) => [status, same?.length]))
  expect(counts).toEqual({ 200: 40, 503: 240 - 40 })
  await refused[0]?.over
  expect(JSON.parse(refused[0]?.heard.text ?? '')).toEqual({
    status: 'too_many_streams',
    error: { messages: ['Too many pages of this app are open. Load the page again to see changes.'] },
  })

  const other = await openSignedIn()
  const otherImport = await queueFile(fixture, other.appId, 'user_id,a\nu1,1\n')
  const { status, stop } = await listen(other, otherImport)
  expect(status).toBe(200)
  for (const stream of [...streams, { stop }]) stream.stop()
})

test('a process has 200 streams in all: an app that comes afterwards is refused', async () => {
  const full = await openTestDashboard()
  onTestFinished(() => full.close())
  const listenTo = async (member: { appId: number; cookie: string }, count: number) => {
    const importId = await queueFile(fixtureOf(full), member.appId, 'user_id,a\nu1,1\n')
    const streams = await Promise.all(Array.from({ length: count }, () => listen(member, importId, full)))
    return streams.map(({ status }) => status)
  }
  const statuses: unknown[] = []
  for (let app = 1; app <= 5; app++) {
    const owner = await openSignedIn(full)
    const email = `${crypto.randomUUID()}@example.com`
    await addMember(full.db, owner.appId, email)
    const other = { appId: owner.appId, cookie: await cookieOf(email, full) }
    for (const member of [owner, owner, other, other]) statuses.push(...(await listenTo(member, 10)))
  }
  expect(statuses).toEqual(Array.from({ length: 200 }, () => 200))
  expect(await listenTo(await openSignedIn(full), 1)).toEqual([503])
})

test('open streams do not delay a shutdown', async () => {
  const stopping = await openTestDashboard()
  const app = await openSignedIn(stopping)
  const importId = await queueFile(fixtureOf(stopping), app.appId, 'user_id,a\nu1,1\n')
  const streams = await Promise.all(Array.from({ length: 3 }, () => listen(app, importId, stopping)))
  const started = performance.now()
  await stopping.close()
  await Promise.all(streams.map(({ over }) => over))
  expect(performance.now() - started).toBeLessThan(5_000)
})
