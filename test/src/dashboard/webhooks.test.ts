import { listEndpoints } from '@sluice/webhooks'
import { Webhook } from 'standardwebhooks'
import { beforeAll, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openReceiver } from '../webhooks/receiver.ts'
import { openOperator } from './test-dashboard.ts'
import { signIn } from './visitor.ts'
import { deliverAll, openShop, openWebhooksDashboard, record } from './webhooks-dashboard.ts'

// The page of webhooks: endpoints, their secrets, and deliveries that can be sent again.
const dashboard = openBeforeAll(openWebhooksDashboard)
beforeAll(async () => {
  await openOperator(dashboard)
})

const secretIn = (text: string) => /aria-label="Secret of the endpoint">(whsec_[\w+/]{32})</.exec(text)?.[1] ?? ''

test('a member adds an endpoint, sees its secret once, and replaces it', async () => {
  const { appId, page, member } = await openShop(dashboard, 'add@example.com')
  const receiver = await openReceiver()
  const added = await member.post(page, { url: receiver.url, event: 'import.completed' })
  expect(added.status).toBe(200)
  const secret = secretIn(added.text)
  const listed = await member.get(page)
  expect(listed.text).toContain(receiver.url)
  expect(listed.text).not.toContain('whsec_')
  const [endpoint] = await listEndpoints(dashboard.db, appId)
  const confirm = `${page}/rotate?endpoint=${endpoint?.endpointId}`
  expect((await member.get(confirm)).text).toContain('For 24 hours, requests are signed with the old secret as well')
  const rotated = await member.post(`${page}/rotate`, { endpoint: endpoint?.endpointId ?? '' }, confirm)
  expect(secretIn(rotated.text)).not.toBe(secret)
  await record(dashboard, appId, '1')
  await deliverAll(dashboard, appId)
  const { headers, body } = receiver.received[0] ?? { headers: {}, body: '' }
  new Webhook(secretIn(rotated.text)).verify(body, headers as Record<string, string>)
  await receiver.close()
})

// second-day.md §5, Page.
test('the page shows every delivery with its last answer, and sends it again', async () => {
  const { appId, page, member } = await openShop(dashboard, 'again@example.com')
  const receiver = await openReceiver()
  await member.post(page, { url: receiver.url, event: 'import.completed' })
  await record(dashboard, appId, '1')
  receiver.next.push(500)
  await deliverAll(dashboard, appId)
  const failed = await member.get(page)
  expect(failed.text).toContain('the receiver answered 500')
  expect(failed.text).toContain('waiting')
  expect(failed.text).toMatch(/<span class="badge warn">trying again<\/span> since .*: no try has succeeded/)
  const [, delivery = ''] = /name="delivery" value="([\w-]+)"/.exec(failed.text) ?? []
  const answer = await member.post(`${page}/send-again`, { delivery }, page)
  expect([answer.status, answer.headers.get('location')]).toEqual([303, page])
  await deliverAll(dashboard, appId)
  expect((await member.get(page)).text).toContain('<span class="badge good">delivered</span>')
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([delivery, delivery])
  await receiver.close()
})

test('a member tests and removes an endpoint, which then disappears with its deliveries', async () => {
  const { appId, page, member } = await openShop(dashboard, 'remove@example.com')
  const receiver = await openReceiver()
  await member.post(page, { url: receiver.url, event: 'export.completed' })
  const [{ endpointId: endpoint } = { endpointId: '' }] = await listEndpoints(dashboard.db, appId)
  expect((await member.post(`${page}/test`, { endpoint }, page)).status).toBe(303)
  await deliverAll(dashboard, appId)
  expect((await member.get(page)).text).toContain('webhook.test')
  const removed = await member.post(`${page}/remove`, { endpoint }, `${page}/remove?endpoint=${endpoint}`)
  expect(removed.status).toBe(303)
  const { text } = await member.get(page)
  expect(text).not.toContain(receiver.url)
  expect(text).not.toContain('webhook.test')
  expect((await member.post(`${page}/remove`, { endpoint }, page)).status).toBe(303)
  expect((await member.post(`${page}/test`, { endpoint }, page)).status).toBe(404)
  await receiver.close()
})

test.each([
  ['https://10.0.0.1/', 'not public'],
  ['https://a:b@example.com/', 'no user and no password'],
  ['<script>', 'not valid'],
])('the URL %s is refused with the reason, and the form keeps what was entered', async (url, problem) => {
  const { appId, page, member } = await openShop(dashboard, `${crypto.randomUUID()}@example.com`)
  const refused = await member.post(page, { url, event: 'import.failed' })
  expect(refused.status).toBe(400)
  expect(refused.text).toContain(problem)
  expect(refused.text).not.toContain('<script>')
  expect(refused.text).toMatch(/value="import.failed" checked/)
  expect(refused.text).not.toMatch(/value="import.completed" checked/)
  expect(await listEndpoints(dashboard.db, appId)).toEqual([])
})

test('deliveries are listed 50 on a page, without gaps, and a made-up position lists none', async () => {
  const { appId, page, member } = await openShop(dashboard, 'pages@example.com')
  await member.post(page, { url: 'https://example.com/', event: 'import.completed' })
  for (let number = 0; number < 120; number++) await record(dashboard, appId, String(number))
  const seen = new Set<string>()
  let pages = 0
  for (let next: string | undefined = page; next !== undefined; pages++) {
    const { text } = await member.get(next)
    for (const [, delivery = ''] of text.matchAll(/name="delivery" value="([\w-]+)"/g)) seen.add(delivery)
    next = /href="([^"]+\?before=[^"]+)">Older/.exec(text)?.[1]
  }
  expect([seen.size, pages]).toEqual([120, 3])
  for (const before of ['x', crypto.randomUUID()]) {
    expect((await member.get(`${page}?before=${before}`)).text).toContain('No older deliveries')
  }
})

test('another app’s endpoints and deliveries are neither shown nor changed; operators see all', async () => {
  const [own, foreign] = [
    await openShop(dashboard, 'own2@example.com'),
    await openShop(dashboard, 'foreign2@example.com'),
  ]
  await foreign.member.post(foreign.page, { url: 'https://example.com/secret', event: 'import.completed' })
  await record(dashboard, foreign.appId, '1')
  const [{ endpointId: endpoint } = { endpointId: '' }] = await listEndpoints(dashboard.db, foreign.appId)
  const [, delivery = ''] = /name="delivery" value="([\w-]+)"/.exec((await foreign.member.get(foreign.page)).text) ?? []
  expect((await own.member.get(foreign.page)).status).toBe(404)
  expect((await own.member.get(`${own.page}/rotate?endpoint=${endpoint}`)).status).toBe(404)
  expect((await own.member.post(`${own.page}/rotate`, { endpoint }, own.page)).status).toBe(404)
  expect((await own.member.post(`${own.page}/test`, { endpoint }, own.page)).status).toBe(404)
  expect((await own.member.post(`${own.page}/send-again`, { delivery }, own.page)).status).toBe(404)
  await own.member.post(`${own.page}/remove`, { endpoint }, own.page)
  expect(await listEndpoints(dashboard.db, foreign.appId)).toHaveLength(1)
  const operator = await signIn(dashboard, 'operator@example.com')
  expect((await operator.get(foreign.page)).text).toContain('https://example.com/secret')
})
