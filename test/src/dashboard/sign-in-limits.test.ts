import { readSettings } from '@sluice/config'
import { openSignInLimiter, signInLimitSettings } from '@sluice/dashboard-app/src/sign-in/limits.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { openApp, openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { openVisitor } from './visitor.ts'

let dashboard: TestDashboard
let limiter: Awaited<ReturnType<typeof openSignInLimiter>>
beforeAll(async () => {
  dashboard = await openTestDashboard(async ({ url }) => {
    // The test is about counts: no slow moment of the machine may let a request pass uncounted.
    const given = { RATE_LIMIT_SIGN_IN: '2/15m', RATE_LIMIT_SIGN_IN_CLIENT: '5/15m', RATE_LIMIT_TIMEOUT: '1m' }
    const settings = readSettings(given, signInLimitSettings)
    limiter = await openSignInLimiter({ databaseUrl: url }, settings, pino({ level: 'silent' }))
    return { signInLimiter: limiter, trustedProxies: '127.0.0.1' }
  })
})
afterAll(async () => {
  await limiter.close()
  await dashboard.close()
})

/** Asks from a network address, as a proxy tells it. */
async function ask(
  email: string,
  client: string,
): Promise<{ status: number; retryAfter: string | null; text: string }> {
  const visitor = openVisitor(dashboard)
  const page = await visitor.get('/sign-in')
  const token = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const answer = await visitor.postWithoutToken('/sign-in', { email, form_token: token }, { 'X-Forwarded-For': client })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: answer.text }
}

test('an address gets so many links and no more, whoever asks; a known one is told the same as an unknown one', async () => {
  await openApp(dashboard, 'Shop', 'known@example.com')
  for (const email of ['known@example.com', 'unknown@example.com']) {
    expect((await ask(email, '192.0.2.1')).status).toBe(200)
    expect((await ask(email.toUpperCase(), '192.0.2.2')).status).toBe(200)
    const refused = await ask(email, '192.0.2.3')
    expect(refused.status).toBe(429)
    expect(Number(refused.retryAfter)).toBeGreaterThan(800)
    expect(refused.text).not.toContain(email)
  }
  await until('both mails', async () => (await dashboard.mails()).length === 2)
})

test('so many links are asked for from one network address and no more, whatever for', async () => {
  const ask6 = Array.from({ length: 6 }, (_, index) => ask(`someone-${index}@example.com`, '198.51.100.7'))
  const answers = await Promise.all(ask6)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(1)
  expect((await ask('someone-else@example.com', '198.51.100.8')).status).toBe(200)
})
