import { createLink } from '@sluice/sign-in'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { signInAddress } from './sign-in-address.ts'
import { openApp, openOperator, openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { openVisitor, signIn } from './visitor.ts'

let dashboard: TestDashboard
beforeAll(async () => {
  dashboard = await openTestDashboard()
})
afterAll(async () => {
  await dashboard.close()
})

test('a member requests a link, gets it by mail, and is signed in with it until signing out', async () => {
  const email = 'anna@example.com'
  const { appId } = await openApp(dashboard, 'Anna’s shop', email)
  const visitor = openVisitor(dashboard)
  const sent = await visitor.post('/sign-in', { email: 'ANNA@example.com' })
  expect(sent.status).toBe(200)
  const mail = await until('the sign-in mail', async () =>
    (await dashboard.mails()).find(({ to }) => to.includes(email)),
  )
  const [address = ''] = /http\S+/.exec(mail.text) ?? []
  expect(mail.html).toContain(address)
  const entered = await visitor.post(address)
  expect(entered.status).toBe(303)
  const cookie = entered.headers.getSetCookie().find((line) => line.startsWith('sluice_session='))
  expect(cookie).toMatch(/HttpOnly/)
  expect(cookie).toMatch(/SameSite=Lax/)
  expect((await visitor.get(`/apps/${appId}`)).status).toBe(303)
  expect((await visitor.get('/apps')).text).toContain('Anna’s shop')

  expect((await visitor.post('/sign-out', {}, '/apps')).headers.get('location')).toBe('/sign-in')
  expect((await visitor.get('/apps')).headers.get('location')).toBe('/sign-in?return=%2Fapps')
})

test('a sign-in leads to the page that was asked for, also if the link is opened in another browser', async () => {
  const email = 'reader@example.com'
  const { appId } = await openApp(dashboard, 'Read', email)
  const wanted = `/apps/${appId}/imports?state=failed`
  const visitor = openVisitor(dashboard)
  const signInPage = (await visitor.get(wanted)).headers.get('location') ?? ''
  expect(signInPage).toBe(`/sign-in?return=${encodeURIComponent(wanted)}`)
  const { text } = await visitor.get(signInPage)
  expect(text).toContain(`name="return" value="${wanted}"`)
  await visitor.post('/sign-in', { email, return: wanted }, signInPage)
  const mail = await until('the sign-in mail', async () =>
    (await dashboard.mails()).find(({ to }) => to.includes(email)),
  )
  // Anybody may request a link for the address, so the mail has nothing of the request.
  expect(mail.text).not.toContain('state')
  const elsewhere = openVisitor(dashboard)
  const [address = ''] = /http\S+/.exec(mail.text) ?? []
  expect((await elsewhere.post(address)).headers.get('location')).toBe(wanted)
  expect((await elsewhere.get(signInPage)).headers.get('location')).toBe(wanted)
})

test.each([
  'https://evil.example/',
  '//evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  'javascript:alert(1)',
  'apps',
])('a sign-in never leads to %j, which is no path of the dashboard', async (target) => {
  const email = `${crypto.randomUUID()}@example.com`
  await openApp(dashboard, 'Safe', email)
  const link = await createLink(dashboard.db, email, target)
  const visitor = openVisitor(dashboard)
  const address = (await visitor.post(`/sign-in/${link?.secret}`)).headers.get('location') ?? ''
  expect(new URL(address, dashboard.url).host).toBe(new URL(dashboard.url).host)
  const again = (await visitor.get(`/sign-in?return=${encodeURIComponent(target)}`)).headers.get('location') ?? ''
  expect(new URL(again, dashboard.url).host).toBe(new URL(dashboard.url).host)
})

test('the answer to a request for a link does not depend on whether the address is known', async () => {
  await openApp(dashboard, 'Known', 'known@example.com')
  const visitor = openVisitor(dashboard)
  const known = await visitor.post('/sign-in', { email: 'known@example.com' })
  const unknown = await visitor.post('/sign-in', { email: 'other@example.com' })
  const shown = (text: string, email: string) => text.replaceAll(email, 'EMAIL')
  expect([unknown.status, shown(unknown.text, 'other@example.com')]).toEqual([
    known.status,
    shown(known.text, 'known@example.com'),
  ])
})

test('a link works once, however many visitors use it at the same moment', async () => {
  await openApp(dashboard, 'Once', 'once@example.com')
  const address = await signInAddress(dashboard, 'once@example.com')
  const visitors = Array.from({ length: 8 }, () => openVisitor(dashboard))
  const answers = await Promise.all(visitors.map((visitor) => visitor.post(address)))
  expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array.from({ length: 7 }, () => 410)])
})

test('opening a link, as mail scanners do, does not use it up', async () => {
  await openApp(dashboard, 'Scanned', 'scanned@example.com')
  const address = await signInAddress(dashboard, 'scanned@example.com')
  await fetch(address)
  expect((await openVisitor(dashboard).post(address)).status).toBe(303)
})

test('a link expires after 15 minutes', async () => {
  await openApp(dashboard, 'Late', 'late@example.com')
  const address = await signInAddress(dashboard, 'late@example.com')
  const [row] = await dashboard.db
    .selectFrom('sign_in_links')
    .select('expires_at')
    .where('email', '=', 'late@example.com')
    .execute()
  const minutes = ((row?.expires_at.getTime() ?? 0) - Date.now()) / 60_000
  expect(minutes).toBeGreaterThan(14)
  expect(minutes).toBeLessThanOrEqual(15)
  await dashboard.db
    .updateTable('sign_in_links')
    .set({ expires_at: new Date(Date.now() - 1000) })
    .where('email', '=', 'late@example.com')
    .execute()
  expect((await openVisitor(dashboard).post(address)).status).toBe(410)
})

test('a removed member loses access with the next request', async () => {
  await openApp(dashboard, 'Left', 'leaver@example.com')
  const visitor = await signIn(dashboard, 'leaver@example.com')
  expect((await visitor.get('/apps')).status).toBe(200)
  await dashboard.db.deleteFrom('members').where('email', '=', 'leaver@example.com').execute()
  expect((await visitor.get('/apps')).headers.get('location')).toBe('/sign-in?return=%2Fapps')
})

// design.md §4, Isolation.
test('members see only their own apps, and operators see all apps', async () => {
  const own = await openApp(dashboard, 'Own', 'owner@example.com')
  const other = await openApp(dashboard, 'Foreign', 'stranger@example.com')
  const owner = await signIn(dashboard, 'owner@example.com')
  expect((await owner.get(`/apps/${own.appId}`)).status).toBe(303)
  expect((await owner.get(`/apps/${other.appId}`)).status).toBe(404)
  expect((await owner.get('/apps?search=Foreign')).text).not.toContain('Foreign')
  expect((await owner.get('/queues')).status).toBe(404)
  await openOperator(dashboard)
  const operator = await signIn(dashboard, 'operator@example.com')
  expect((await operator.get(`/apps/${other.appId}`)).status).toBe(303)
  expect((await operator.get('/apps?search=forei')).text).toContain('Foreign')
})

test.each(['sluice_session=', 'sluice_session=abc', 'sluice_session=abc.def', 'sluice_session=a.b.c'])(
  'an invented cookie (%s) is none',
  async (cookie) => {
    const answer = await fetch(`${dashboard.url}/apps`, {
      headers: { Cookie: cookie, Accept: 'text/html' },
      redirect: 'manual',
    })
    expect(answer.headers.get('location')).toBe('/sign-in?return=%2Fapps')
  },
)
