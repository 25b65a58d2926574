import { readSettings } from '@sluice/config'
import { openRequestLimiter, requestLimitSettings } from '@sluice/dashboard-app/src/access/request-limits.ts'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { lockTable, lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { openAppWith } from './import-runs.ts'
import { openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { formTokenIn, signIn } from './visitor.ts'

/** Opens a dashboard with rate limits of pages and forms. */
async function openLimited(limits: Record<string, string>): Promise<TestDashboard> {
  let closeLimiter = async () => {}
  const dashboard = await openTestDashboard(async ({ url }) => {
    const settings = readSettings({ ...limits, RATE_LIMIT_TIMEOUT: '1m' }, requestLimitSettings)
    const requestLimiter = await openRequestLimiter({ databaseUrl: url }, settings, pino({ level: 'silent' }))
    closeLimiter = requestLimiter.close
    return { requestLimiter }
  })
  onTestFinished(async () => {
    await closeLimiter()
    await dashboard.close()
  })
  return dashboard
}

test('the pages and forms of a person in a window are limited in all sessions, and other people are unaffected', async () => {
  const dashboard = await openLimited({ RATE_LIMIT_DASHBOARD_PERSON: '3/1h' })
  const [app, other] = [await openAppWith(dashboard, []), await openAppWith(dashboard, [])]
  const sessions = [await signIn(dashboard, app.email), await signIn(dashboard, app.email)] as const
  const page = `/apps/${app.appId}/settings`
  expect((await sessions[0].get(page)).status).toBe(200)
  // A form is a page, and what its fields are sent to.
  expect((await sessions[1].post(`${page}/imports`, { new_keys: 'refuse' }, page)).status).toBe(303)
  const refused = await sessions[0].get(page)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3000)
  expect(refused.text).toContain('<h1>Too many requests</h1>')
  const form = { form_token: formTokenIn(refused.text), new_keys: 'register' }
  expect((await sessions[1].postWithoutToken(`${page}/imports`, form)).status).toBe(429)
  const neighbour = await signIn(dashboard, other.email)
  expect((await neighbour.get(`/apps/${other.appId}/settings`)).status).toBe(200)
})

test('the pages of an app are limited, whoever opens them', async () => {
  const dashboard = await openLimited({ RATE_LIMIT_DASHBOARD_APP: '2/1h' })
  const [app, other] = [await openAppWith(dashboard, []), await openAppWith(dashboard, [])]
  for (const appId of [app.appId, other.appId]) {
    await dashboard.db.insertInto('members').values({ app_id: appId, email: 'both@example.com' }).execute()
  }
  const [member, both] = [await signIn(dashboard, app.email), await signIn(dashboard, 'both@example.com')]
  const page = `/apps/${app.appId}/settings`
  expect([(await member.get(page)).status, (await both.get(page)).status]).toEqual([200, 200])
  expect([(await member.get(page)).status, (await both.get(page)).status]).toEqual([429, 429])
  expect((await both.get(`/apps/${other.appId}/settings`)).status).toBe(200)
})

test('the exports that an app requests on its page are limited, and those of other apps are not', async () => {
  const dashboard = await openLimited({ RATE_LIMIT_DASHBOARD_EXPORT: '1/1h' })
  const [app, other] = [await openAppWith(dashboard, []), await openAppWith(dashboard, [])]
  const request = async ({ appId, email }: typeof app) => {
    const page = `/apps/${appId}/profiles`
    return await (await signIn(dashboard, email)).post(`${page}/exports`, {}, page)
  }
  expect((await request(app)).status).toBe(303)
  const refused = await request(app)
  expect([refused.status, Number(refused.headers.get('retry-after')) > 3000]).toEqual([429, true])
  expect((await request(other)).status).toBe(303)
  expect(await dashboard.db.selectFrom('exports').select('export_id').execute()).toHaveLength(2)
})

test('forms of one app are worked on one after the other, a person has a share of them, and other apps do not wait', async () => {
  const dashboard = await openTestDashboard()
  onTestFinished(dashboard.close)
  const [app, other] = [await openAppWith(dashboard, []), await openAppWith(dashboard, [])]
  const [member, neighbour] = [await signIn(dashboard, app.email), await signIn(dashboard, other.email)]
  const page = `/apps/${app.appId}/data-import`
  const form = { form_token: formTokenIn((await member.get(page)).text), columns: '["user_id"]' }
  const statuses: number[] = []
  const find = async () => void statuses.push((await member.postWithoutToken(`${page}/mappings/find`, form)).status)

  const release = await lockTable(dashboard.db, 'column_mappings')
  const forms = Array.from({ length: 45 }, find)
  await until('refusals', () => statuses.length === 5)
  expect((await neighbour.get(`/apps/${other.appId}/settings`)).status).toBe(200)
  await until('one form to be worked on', async () => (await lockWaits(dashboard.db)).length === 1)
  await Promise.all([release(), ...forms])
  expect(statuses).toEqual([...Array(5).fill(429), ...Array(40).fill(204)])
})
