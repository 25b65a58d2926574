import { readSettings } from '@sluice/config'
import { openSignInLimiter, signInLimitSettings } from '@sluice/dashboard-app/src/sign-in/sign-in-limiter.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { openApp, openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { formTokenIn, openVisitor } from './visitor.ts'

let dashboard: TestDashboard
let limiter: Awaited<ReturnType<typeof openSignInLimiter>>
beforeAll(async () => {
  dashboard = await openTestDashboard(async ({ url }) => {
    // With a long timeout, a slow machine does not make the process count a request locally, outside the shared count.
    const given = {
      RATE_LIMIT_SIGN_IN: '2/15m',
      RATE_LIMIT_SIGN_IN_ADDRESS: '6/15m',
      RATE_LIMIT_SIGN_IN_CLIENT: '10/15m',
      RATE_LIMIT_TIMEOUT: '1m',
    }
    const settings = readSettings(given, signInLimitSettings)
    limiter = await openSignInLimiter({ databaseUrl: url }, settings, pino({ level: 'silent' }))
    return { signInLimiter: limiter, trustedProxies: ['127.0.0.1'] }
  })
})
afterAll(async () => {
  await limiter.close()
  await dashboard.close()
})

/** Requests a link from a client address, as reported by a proxy. */
async function ask(
  email: string,
  client: string,
): Promise<{ status: number; retryAfter: string | null; text: string }> {
  const visitor = openVisitor(dashboard)
  const page = await visitor.get('/sign-in')
  const token = formTokenIn(page.text)
  const answer = await visitor.postWithoutToken('/sign-in', { email, form_token: token }, { 'X-Forwarded-For': client })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: answer.text }
}

test('one client gets a limited number of links for one address, and the same answers for unknown addresses', async () => {
  await openApp(dashboard, 'Shop', 'known@example.com')
  for (const email of ['known@example.com', 'unknown@example.com']) {
    expect((await ask(email, '192.0.2.1')).status).toBe(200)
    expect((await ask(email.toUpperCase(), '192.0.2.1')).status).toBe(200)
    const refused = await ask(email, '192.0.2.1')
    expect(refused.status).toBe(429)
    expect(Number(refused.retryAfter)).toBeGreaterThan(800)
    expect(refused.text).not.toContain(email)
    expect(refused.text).toContain('<a href="/">Go to the start page</a>')
  }
  await until('both mails', async () => (await dashboard.mails()).length === 2)
})

test('a stranger who requests as many links as possible for an address does not lock out its owner', async () => {
  await openApp(dashboard, 'Shop', 'person@example.com')
  // All clients are in one /64: a client with one of its addresses usually has all of them.
  const strangers = Array.from({ length: 20 }, (_, index) => ask('person@example.com', `2001:db8:0:1::${index}`))
  const statuses = (await Promise.all(strangers)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(2)
  expect((await ask('person@example.com', '2001:db8:0:2::1')).status).toBe(200)
  const mails = await until('the mails', async () => {
    const all = (await dashboard.mails()).filter(({ to }) => to.includes('person@example.com'))
    return all.length >= 3 && all
  })
  expect(mails).toHaveLength(3)
})

test('all clients together get a limited number of links for one address', async () => {
  const statuses: number[] = []
  for (let client = 1; client <= 8; client++)
    statuses.push((await ask('all@example.com', `203.0.113.${client}`)).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429])
})

test('one client gets a limited number of links for all addresses together', async () => {
  const ask11 = Array.from({ length: 11 }, (_, index) => ask(`someone-${index}@example.com`, '198.51.100.7'))
  const answers = await Promise.all(ask11)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(1)
  expect((await ask('someone-else@example.com', '198.51.100.8')).status).toBe(200)
})

test('texts that are no address do not make one client many', async () => {
  const texts = Array.from({ length: 3 }, (_, index) => `${'a'.repeat(4_000)}${index}`)
  const statuses: number[] = []
  for (const text of [...texts, '198.51.100.9:1', '198.51.100.9:2', '198.51.100.9:3'])
    statuses.push((await ask('texts@example.com', text)).status)
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429])
})

describe('clients are distinguished by the address that a trusted proxy reports', () => {
  const client = '192.0.2.1'

  test.each([
    [['loopback', 'uniquelocal'], client],
    [['127.0.0.1'], client],
    [['10.244.0.0/16'], '127.0.0.1'],
    [undefined, '127.0.0.1'],
  ])('with %s as trusted proxies', async (trustedProxies, expected) => {
    const asked: string[] = []
    const log: { msg: string }[] = []
    const other = await openTestDashboard(async () => ({
      trustedProxies,
      log: pino({ level: 'warn' }, { write: (line) => void log.push(JSON.parse(line)) }),
      signInLimiter: { refuse: async (_, address) => void asked.push(address), close: async () => {} },
    }))
    onTestFinished(() => other.close())
    for (let time = 1; time <= 2; time++) {
      const visitor = openVisitor(other)
      const form_token = formTokenIn((await visitor.get('/sign-in')).text)
      const fields = { email: 'who@example.com', form_token }
      expect((await visitor.postWithoutToken('/sign-in', fields, { 'X-Forwarded-For': client })).status).toBe(200)
    }
    expect(asked).toEqual([expected, expected])
    // The log warns once about a proxy that is not configured.
    const heard = log.filter(({ msg }) => msg.includes('DASHBOARD_TRUSTED_PROXIES'))
    expect(heard).toHaveLength(trustedProxies === undefined ? 1 : 0)
  })
})
