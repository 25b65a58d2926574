import { createServer } from 'node:net'
import { createApp } from '@sluice/accounts'
import { providerSettings, readSettings, signInSettings } from '@sluice/config'
import { openDashboardProvider } from '@sluice/dashboard-app/src/sign-in/provider.ts'
import { openSignInLimiter, signInLimitSettings } from '@sluice/dashboard-app/src/sign-in/sign-in-limiter.ts'
import { openProvider, openSigner, ProviderUnavailable } from '@sluice/sign-in'
import { pino } from 'pino'
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openApp, openTestDashboard } from '../dashboard/test-dashboard.ts'
import { openVisitor, signIn } from '../dashboard/visitor.ts'
import { freePort, listenOn } from '../environment/free-port.ts'
import { openBeforeAll } from '../environment/opened.ts'
import type { ProviderState } from './identity-provider.ts'
import {
  environmentOf,
  openPersonsBrowser,
  openProviderDashboard,
  type PersonsBrowser,
  reachCallback,
  signInThere,
} from './provider-dashboard.ts'

const log: string[] = []
const setUp = openBeforeAll(() =>
  openProviderDashboard(async () => ({
    mailsLinks: false,
    log: pino({ level: 'info' }, { write: (line) => void log.push(line) }),
  })),
)
let issuer: string
let browser: PersonsBrowser
beforeAll(async () => {
  issuer = setUp.provider.issuer
  await createApp(setUp.dashboard.db, { name: 'Shop', email: 'anna@example.com' })
})

const normal: ProviderState = {
  accounts: { anna: { email: 'anna@example.com', email_verified: true } },
  person: 'anna',
}
beforeEach(async () => {
  await setUp.provider.set(normal)
  browser = openPersonsBrowser(setUp)
})

/**
 * Expects that the answer says that the person is not signed in, that the dashboard has no session, and that the log
 * has the reason.
 */
async function expectRefusal({ status, text }: { status: number; text: string }, reason: string): Promise<void> {
  expect([status, text]).toEqual([400, expect.stringContaining('You are not signed in')])
  expect((await browser.atDashboard.get('/apps')).headers.get('location')).toBe('/sign-in?return=%2Fapps')
  expect(log.filter((line) => line.includes('sign-in at the provider failed')).at(-1)).toContain(reason)
}

// second-day.md §6, OpenID Connect.
test('a state of another browser is refused, so that nobody is lured into a foreign account', async () => {
  const address = await reachCallback(openPersonsBrowser(setUp), issuer)
  await browser.atDashboard.get('/sign-in/provider')
  await expectRefusal(await browser.atDashboard.get(address), 'began in another browser')
})

test.each(['', '?code=x', '?state=x&code=x', '?state=a.b.c.d&code=x', '?error=access_denied'])(
  'a callback that no sign-in began (%s) is refused',
  async (query) =>
    await expectRefusal(
      await browser.atDashboard.get(`/sign-in/provider/callback${query}`),
      'began in another browser',
    ),
)

test.each(['a\0b', 'a\ud800', 'a\nb', 'ä', 'a'.repeat(256), ''])(
  'a subject that is not 1 to 255 printable ASCII characters (%j) is refused',
  async (sub) => {
    const claims = { email: 'anna@example.com', email_verified: true, groups: [] }
    await setUp.provider.set({ ...normal, falseClaims: { ...claims, sub } })
    const { status } = await signInThere(browser, issuer)
    expect(status).toBe(400)
    expect((await browser.atDashboard.get('/apps')).headers.get('location')).toBe('/sign-in?return=%2Fapps')
    expect(await setUp.dashboard.db.selectFrom('provider_accounts').selectAll().execute()).toEqual([])
  },
)

test('a changed state is refused', async () => {
  const address = new URL(await reachCallback(browser, issuer))
  const state = address.searchParams.get('state') ?? ''
  address.searchParams.set(
    'state',
    state.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
  )
  await expectRefusal(await browser.atDashboard.get(address.href), 'began in another browser')
})

// second-day.md §6, OpenID Connect.
test.each<[string, Record<string, unknown>]>([
  ['nonce', { nonce: 'another' }],
  ['audience', { aud: 'another client' }],
  ['issuer', { iss: 'https://id.example.com' }],
  ['expiry', { exp: 1 }],
])('an ID token with a wrong %s is refused, although its signature is valid', async (_, falseClaims) => {
  await setUp.provider.set({ ...normal, falseClaims })
  await expectRefusal(await signInThere(browser, issuer), 'JWT')
})

test('an expired code is refused', async () => {
  const address = await reachCallback(browser, issuer)
  await setUp.provider.set({ ...normal, clockAheadMs: 60 * 60_000 })
  await expectRefusal(await browser.atDashboard.get(address), 'invalid_grant')
})

test('a code works once', async () => {
  const address = await reachCallback(browser, issuer)
  expect((await browser.atDashboard.get(address)).status).toBe(303)
  expect((await browser.atDashboard.get(address)).status).toBe(400)
})

test('a code of another sign-in is refused', async () => {
  const foreign = new URL(await reachCallback(openPersonsBrowser(setUp), issuer))
  const own = new URL(await reachCallback(browser, issuer))
  own.searchParams.set('code', foreign.searchParams.get('code') ?? '')
  await expectRefusal(await browser.atDashboard.get(own.href), 'invalid_grant')
})

test('a person whom the provider denies is not signed in', async () => {
  await setUp.provider.set({ accounts: normal.accounts })
  await expectRefusal(await signInThere(browser, issuer), 'access_denied')
})

test('a provider that fails leaves a page that says so, and works again afterwards', async () => {
  const address = await reachCallback(browser, issuer)
  await setUp.provider.set({ ...normal, broken: true })
  const failed = await browser.atDashboard.get(address)
  expect([failed.status, failed.text]).toEqual([503, expect.stringContaining('did not answer as expected')])
  await setUp.provider.set(normal)
  expect((await signInThere(browser, issuer)).status).toBe(303)
})

test('a provider that cannot be reached, or that does not answer in time, leaves the same page', async () => {
  const silent = createServer((socket) => void socket.on('error', () => {}))
  const port = await listenOn(silent)
  onTestFinished(() => void silent.close())
  const closed = await freePort()
  for (const issuerPort of [port, closed]) {
    const urls = { callbackUrl: 'http://dashboard.test/callback', signedOutUrl: 'http://dashboard.test' }
    const client = { clientId: 'sluice', clientSecret: 'secret', operatorGroup: undefined }
    const options = { ...client, ...urls, issuer: `http://127.0.0.1:${issuerPort}` }
    const signer = openSigner(setUp.dashboard.db)
    const provider = openProvider(options, signer, { requestSeconds: 0.3 })
    await expect(provider.begin('browser', '/')).rejects.toThrow(ProviderUnavailable)
    expect(await provider.signOutUrl()).toBeUndefined()
    const other = await openTestDashboard(async () => ({ provider }))
    onTestFinished(() => other.close())
    const page = await openVisitor(other).get('/sign-in/provider')
    expect([page.status, page.text]).toEqual([503, expect.stringContaining('did not answer as expected')])
  }
})

test('any process can finish a sign-in that another process began', async () => {
  const address = new URL(await reachCallback(browser, issuer))
  const [, id = ''] = /sluice_browser=([^.]+)/.exec(browser.atDashboard.cookies()) ?? []
  const settings = providerSettings(readSettings(environmentOf(setUp.provider), signInSettings))
  if (settings === undefined) throw new Error('no provider')
  const another = openDashboardProvider(settings, setUp.dashboard.url, openSigner(setUp.dashboard.db))
  const { identity } = await another.finish(id, address.searchParams)
  expect(identity).toEqual({ issuer, subject: 'anna', email: 'anna@example.com', isInOperatorGroup: false })
})

test('after the sign-in, browsers open only pages of the dashboard', async () => {
  for (const target of ['https://evil.example', '//evil.example', '/.//evil.example', '/\\evil.example', '']) {
    const start = `/sign-in/provider?return=${encodeURIComponent(target)}`
    const location = (await signInThere(openPersonsBrowser(setUp), issuer, start)).headers.get('location') ?? ''
    expect(new URL(location, setUp.dashboard.url).origin).toBe(setUp.dashboard.url)
  }
})

// second-day.md §6, SIGN_IN_MAIL.
test('without sign-in by mail, nobody gets a link, but the links of operators work', async () => {
  const page = await browser.atDashboard.get('/sign-in')
  expect(page.text).not.toContain('name="email"')
  expect((await browser.atDashboard.post('/sign-in', { email: 'anna@example.com' })).status).toBe(404)
  expect(await setUp.dashboard.mails()).toEqual([])
  expect((await (await signIn(setUp.dashboard, 'anna@example.com')).get('/')).status).toBe(303)
})

test('sign-ins of one client are limited, confirmations of a session are not', async () => {
  const settings = readSettings({ RATE_LIMIT_SIGN_IN_CLIENT: '2/15m', RATE_LIMIT_TIMEOUT: '1m' }, signInLimitSettings)
  const limited = await openProviderDashboard(async ({ url }) => {
    const limiter = await openSignInLimiter({ databaseUrl: url }, settings, pino({ level: 'silent' }))
    onTestFinished(() => limiter.close())
    return { signInLimiter: limiter }
  })
  onTestFinished(() => limited.close())
  const there = limited.provider.issuer
  await openApp(limited.dashboard, 'Shop', 'anna@example.com')
  await limited.provider.set(normal)
  const person = openPersonsBrowser(limited)
  for (let time = 1; time <= 4; time++) expect((await signInThere(person, there)).status).toBe(303)
  expect((await signInThere(openPersonsBrowser(limited), there)).status).toBe(303)
  const refused = await signInThere(openPersonsBrowser(limited), there)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(600)
})

test('without a provider, the dashboard has no pages for one', async () => {
  const without = await openTestDashboard()
  onTestFinished(() => without.close())
  const visitor = openVisitor(without)
  expect((await visitor.get('/sign-in')).text).not.toContain('Sign in with')
  for (const path of ['/sign-in/provider/callback', '/sign-out/provider'])
    expect((await visitor.get(path)).status).toBe(404)
})

test('the log holds no code, state or secret of a sign-in', async () => {
  const address = new URL(await reachCallback(browser, issuer))
  await setUp.provider.set({ ...normal, falseClaims: { nonce: 'another' } })
  await browser.atDashboard.get(address.href)
  const lines = log.join('')
  expect(lines).toContain('sign-in at the provider failed')
  for (const secret of ['secret of the dashboard', ...address.searchParams.values()])
    if (secret !== issuer) expect(lines).not.toContain(secret)
})
