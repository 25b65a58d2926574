import { removeMember } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { addOperator } from '@sluice/sign-in'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../dashboard/test-dashboard.ts'
import { formTokenIn, signIn } from '../dashboard/visitor.ts'
import { openBeforeAll } from '../environment/opened.ts'
import {
  openPersonsBrowser,
  openProviderDashboard,
  type ProviderDashboard,
  passProvider,
  reachCallback,
  signInThere,
} from './provider-dashboard.ts'

const setUp = openBeforeAll(openProviderDashboard)
let issuer: string
beforeAll(async () => {
  issuer = setUp.provider.issuer
})
beforeEach(async () => {
  await sql`truncate sessions, provider_accounts, operators, members, audit_log`.execute(setUp.dashboard.db)
})

const anna = { email: 'Anna@example.com', email_verified: true }

/** Lets a person sign in at the provider, whose browser is new. */
async function enter(person: string, accounts: Parameters<ProviderDashboard['provider']['set']>[0]['accounts']) {
  await setUp.provider.set({ accounts, person })
  const browser = openPersonsBrowser(setUp)
  return { browser, answer: await signInThere(browser, issuer) }
}

/** Makes the provider's last confirmation of every session expired. */
async function expireConfirmations(): Promise<void> {
  await sql`update sessions set confirmed_until = now() - interval '1 second'`.execute(setUp.dashboard.db)
}

async function auditLog() {
  const { db } = setUp.dashboard
  return await db.selectFrom('audit_log').select(['app_id', 'who_type', 'who', 'what', 'outcome']).execute()
}

// second-day.md §6, OpenID Connect.
test('a member signs in with the account at the provider and sees the own apps only', async () => {
  const { appId } = await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
  const other = await openApp(setUp.dashboard, 'Other', 'ben@example.com')
  const page = await openPersonsBrowser(setUp).atDashboard.get('/sign-in')
  expect(page.text).toContain(`Sign in with ${new URL(issuer).host}`)
  const { browser, answer } = await enter('anna', { anna })
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/'])
  expect((await browser.atDashboard.get(`/apps/${appId}/imports`)).text).toContain('anna@example.com')
  expect((await browser.atDashboard.get(`/apps/${other.appId}/imports`)).status).toBe(404)
  expect((await browser.atDashboard.get('/queues')).status).toBe(404)
  const entry = { who_type: 'member', who: 'anna@example.com', what: 'sign_in', outcome: 'done' }
  expect(await auditLog()).toEqual([{ app_id: appId, ...entry }])
})

test('the address and its verification come from one source: the ID token cannot borrow the verification of another address', async () => {
  await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
  const ben = { email: 'ben@example.com', email_verified: true }
  for (const falseClaims of [{ email: 'anna@example.com' }, { email: 'anna@example.com', email_verified: null }]) {
    await setUp.provider.set({ accounts: { ben }, person: 'ben', falseClaims })
    const { status, text } = await signInThere(openPersonsBrowser(setUp), issuer)
    expect([status, text]).toEqual([403, expect.not.stringContaining('anna@example.com')])
  }
  expect(await setUp.dashboard.db.selectFrom('sessions').selectAll().execute()).toEqual([])
})

// second-day.md §6, Operator group.
test('members of the operator group are operators only while the provider says so', async () => {
  const olga = { email: 'olga@example.com', email_verified: true, groups: ['staff', 'operations'] }
  const { browser, answer } = await enter('olga', { olga })
  expect(answer.status).toBe(303)
  expect((await browser.atDashboard.get('/queues')).status).toBe(200)
  expect(await auditLog()).toEqual([
    { app_id: 0, who_type: 'operator', who: 'olga@example.com', what: 'sign_in', outcome: 'done' },
  ])
  await setUp.provider.set({ accounts: { olga: { ...olga, groups: ['staff'] } }, person: 'olga' })
  await expireConfirmations()
  expect((await browser.atDashboard.get('/queues')).headers.get('location')).toContain('/sign-in/provider')
  expect((await signInThere(browser, issuer)).status).toBe(403)
  expect((await browser.atDashboard.get('/queues')).headers.get('location')).toBe('/sign-in?return=%2Fqueues')
})

test('a member who leaves the operator group keeps the session, and sees the own apps only', async () => {
  const { appId } = await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
  const { browser } = await enter('anna', { anna: { ...anna, groups: ['operations'] } })
  expect((await browser.atDashboard.get('/queues')).status).toBe(200)
  await setUp.provider.set({ accounts: { anna: { ...anna, groups: [] } }, person: 'anna' })
  expect((await signInThere(browser, issuer)).status).toBe(303)
  expect((await browser.atDashboard.get('/queues')).status).toBe(404)
  expect((await browser.atDashboard.get(`/apps/${appId}/imports`)).status).toBe(200)
})

test('two tabs of a browser sign in at the same moment', async () => {
  await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
  await setUp.provider.set({ accounts: { anna }, person: 'anna' })
  const browser = openPersonsBrowser(setUp)
  const tabs = [await reachCallback(browser, issuer), await reachCallback(browser, issuer)]
  for (const address of tabs) expect((await browser.atDashboard.get(address)).status).toBe(303)
})

// second-day.md §6, Verified addresses.
describe('the provider identifies a person who may not sign in:', () => {
  test('the address is not verified', async () => {
    await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    const { browser, answer } = await enter('anna', { anna: { ...anna, email_verified: false } })
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('has not verified')
    expect((await browser.atDashboard.get('/apps')).headers.get('location')).toBe('/sign-in?return=%2Fapps')
  })

  test('the address belongs to nobody', async () => {
    const { answer } = await enter('anna', { anna })
    expect(answer.status).toBe(403)
    expect(await setUp.dashboard.db.selectFrom('provider_accounts').selectAll().execute()).toEqual([])
  })

  test('another account had the address first', async () => {
    await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    expect((await enter('anna', { anna })).answer.status).toBe(303)
    const { answer } = await enter('thief', { anna, thief: anna })
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('another account')
    expect(await auditLog()).toContainEqual({
      ...{ app_id: 0, who_type: 'guest', who: 'anna@example.com', what: 'sign_in', outcome: 'refused' },
    })
    expect((await enter('anna', { anna })).answer.status).toBe(303)
  })

  test('of two accounts that claim an address at the same moment, one gets it', async () => {
    await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    const callbacks = []
    for (const person of ['anna', 'thief']) {
      await setUp.provider.set({ accounts: { anna, thief: anna }, person })
      const browser = openPersonsBrowser(setUp)
      callbacks.push({ browser, address: await reachCallback(browser, issuer) })
    }
    const answers = await Promise.all(callbacks.map(({ browser, address }) => browser.atDashboard.get(address)))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403])
  })

  test('the account had another address at the first sign-in, even if the new one is an operator’s', async () => {
    await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    await addOperator(setUp.dashboard.db, 'operator@example.com')
    const { browser } = await enter('anna', { anna })
    const changed = { ...anna, email: 'operator@example.com' }
    const { answer } = await enter('anna', { anna: changed })
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('had another e-mail address')
    // The session from before the change is ended too.
    expect((await browser.atDashboard.get('/apps')).headers.get('location')).toBe('/sign-in?return=%2Fapps')
  })
})

test('an address that was removed everywhere may be given to another account', async () => {
  const { appId } = await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
  await sql`insert into members (app_id, email) values (${appId}, 'ben@example.com')`.execute(setUp.dashboard.db)
  const { browser } = await enter('anna', { anna })
  await removeMember(setUp.dashboard.db, appId, 'anna@example.com')
  expect((await browser.atDashboard.get('/apps')).headers.get('location')).toBe('/sign-in?return=%2Fapps')
  await sql`insert into members (app_id, email) values (${appId}, 'anna@example.com')`.execute(setUp.dashboard.db)
  expect((await enter('another', { another: anna })).answer.status).toBe(303)
})

describe('a session at the dashboard', () => {
  test('is valid for 15 minutes, then the provider confirms it, and the browser returns to its page', async () => {
    const { appId } = await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    const { browser } = await enter('anna', { anna })
    const { rows } = await sql<{ minutes: number }>`
      select extract(epoch from confirmed_until - now())::float8 / 60 as minutes from sessions
    `.execute(setUp.dashboard.db)
    expect(rows[0]?.minutes).toBeGreaterThan(14)
    expect(rows[0]?.minutes).toBeLessThanOrEqual(15)
    const page = `/apps/${appId}/settings?from=mail`
    const form = (await browser.atDashboard.get(page)).text
    await expireConfirmations()
    const script = await browser.atDashboard.get(page, { Accept: 'application/json' })
    expect(script.status).toBe(401)
    const asked = await browser.atDashboard.get(page)
    const answer = await signInThere(browser, issuer, asked.headers.get('location') ?? '')
    expect(answer.headers.get('location')).toBe(page)
    expect((await browser.atDashboard.get(page)).status).toBe(200)
    // A form that was open before the confirmation is still accepted.
    const form_token = formTokenIn(form)
    const sent = await browser.atDashboard.postWithoutToken(`/apps/${appId}/settings/members`, {
      form_token,
      email: '?',
    })
    expect(sent.status).toBe(400)
    expect(await auditLog()).toHaveLength(2)
  })

  test('is confirmed by the next page before it ends, so that forms need not wait', async () => {
    const { appId } = await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    const { browser } = await enter('anna', { anna })
    await sql`update sessions set confirmed_until = now() + interval '4 minutes'`.execute(setUp.dashboard.db)
    const page = await browser.atDashboard.get(`/apps/${appId}/imports`)
    expect(page.headers.get('location')).toContain('/sign-in/provider?return=')
    const script = await browser.atDashboard.get(`/apps/${appId}/imports`, { 'Sec-Fetch-Dest': 'empty' })
    expect(script.status).toBe(200)
  })

  test('ends when the person is removed at the provider', async () => {
    await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    const { browser } = await enter('anna', { anna })
    await setUp.provider.set({ accounts: {} })
    await expireConfirmations()
    const asked = await browser.atDashboard.get('/apps')
    const answer = await signInThere(browser, issuer, asked.headers.get('location') ?? '')
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('You are not signed in')
    expect((await browser.atDashboard.get('/apps')).headers.get('location')).toContain('/sign-in/provider')
  })

  test('of another person does not survive a sign-in in the same browser', async () => {
    const { appId } = await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    await openApp(setUp.dashboard, 'Other', 'ben@example.com')
    const { browser } = await enter('anna', { anna })
    await expireConfirmations()
    await setUp.provider.set({ accounts: { ben: { ...anna, email: 'ben@example.com' } }, person: 'ben' })
    const { atProvider } = openPersonsBrowser(setUp)
    expect((await signInThere({ ...browser, atProvider }, issuer)).status).toBe(303)
    expect((await browser.atDashboard.get(`/apps/${appId}/imports`)).status).toBe(404)
    const sessions = await setUp.dashboard.db.selectFrom('sessions').select('email').execute()
    expect(sessions).toEqual([{ email: 'ben@example.com' }])
  })

  test('that began with a mailed link lasts without the provider', async () => {
    await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
    const visitor = await signIn(setUp.dashboard, 'anna@example.com')
    await setUp.provider.set({ accounts: {}, broken: true })
    expect((await visitor.get('/')).status).toBe(303)
    expect((await visitor.post('/sign-out', {}, '/apps')).headers.get('location')).toBe('/sign-in')
  })
})

test('signing out ends the session, and leads to the page of the provider that signs out there', async () => {
  await openApp(setUp.dashboard, 'Shop', 'anna@example.com')
  const { browser } = await enter('anna', { anna })
  const left = await browser.atDashboard.post('/sign-out', {}, '/apps')
  expect(left.headers.get('location')).toBe('/sign-out/provider')
  expect(await setUp.dashboard.db.selectFrom('sessions').selectAll().execute()).toEqual([])
  const page = await browser.atDashboard.get('/sign-out/provider')
  const [, address = ''] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page.text) ?? []
  const url = new URL(address.replaceAll('&amp;', '&'))
  expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${setUp.dashboard.url}/sign-in`)
  const form = await browser.atProvider.get(url.href)
  expect(form.status).toBe(200)
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(form.text)?.[1] ?? ''
  const done = await browser.atProvider.postWithoutToken('/session/end/confirm', { xsrf, logout: 'yes' })
  expect(await passProvider(browser, done.headers.get('location'), issuer)).toMatch(`${setUp.dashboard.url}/sign-in`)
})
