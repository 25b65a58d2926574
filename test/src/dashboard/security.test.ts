import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { sql } from '@sluice/database'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openSampleApp } from './sample-app.ts'
import { addImports } from './sample-data.ts'
import { openOperator, openTestDashboard } from './test-dashboard.ts'
import { formTokenIn, openVisitor, signIn, type Visitor } from './visitor.ts'

const dashboard = openBeforeAll(openTestDashboard)
let ownApp: number
let foreignApp: number
let member: Visitor
beforeAll(async () => {
  ;({ appId: ownApp } = await openSampleApp(dashboard, 'Own', 'anna@example.com'))
  ;({ appId: foreignApp } = await openSampleApp(dashboard, 'Foreign', 'bert@example.com'))
  await openOperator(dashboard)
  member = await signIn(dashboard, 'anna@example.com')
})

const pages = [
  'imports',
  'data-import',
  'credentials',
  'credentials/api-token',
  'credentials/access-keys/delete?key=SLC1K0123456789ABCDEF',
  'profiles',
  'profiles/user?user=user-1',
  'profiles/exports/0b9d4d1e-7f0c-4c7e-9d6e-0f6d7f3f2a11/file',
  'deletions',
  'settings',
  'settings/members/remove?member=bert%40example.com',
]

test.each(pages)('a page of another app is not found: %s', async (path) => {
  const answer = await member.get(`/apps/${foreignApp}/${path}`)
  expect(answer.status).toBe(404)
  expect(answer.text).not.toMatch(/Foreign|bert@|user-1|plan/)
})

test.each(['0', '-1', '1e3', '99999999', '1%00', '..%2f1', 'x', '%zz', 'x'.repeat(200)])(
  'an app that cannot be (%s) is not there',
  async (id) => {
    expect((await member.get(`/apps/${id}/settings`)).status).toBe(404)
  },
)

test('objects of another app are not found under the own app', async () => {
  await sql`insert into users (app_id, user_id) values (${foreignApp}, 'only-there')`.execute(dashboard.db)
  expect((await member.get(`/apps/${ownApp}/profiles/user?user=only-there`)).status).toBe(404)
  expect((await member.get(`/apps/${ownApp}/settings/members/remove?member=bert%40example.com`)).status).toBe(404)
})

test('HEAD is answered like GET, without the body', async () => {
  const { processing: importId } = await addImports(dashboard.db, ownApp)
  const own = ['imports', 'audit-log/file', `imports/${importId}`, `imports/${importId}/events`, 'settings']
  const paths = [...own.map((path) => `/apps/${ownApp}/${path}`), `/apps/${foreignApp}/imports`, '/healthz', '/sign-in']
  for (const path of paths) {
    const head = await fetch(new URL(path, dashboard.url), {
      ...{ method: 'HEAD', redirect: 'manual', headers: { Accept: 'text/html', Cookie: member.cookies() } },
    })
    const leave = new AbortController()
    const get = await fetch(new URL(path, dashboard.url), {
      ...{ redirect: 'manual', headers: { Accept: 'text/html', Cookie: member.cookies() }, signal: leave.signal },
    })
    leave.abort()
    const shown = ({ status, headers }: Response) => [path, status, headers.get('content-type')]
    expect(shown(head)).toEqual(shown(get))
    expect(await head.text()).toBe('')
  }
})

test('a script without a session gets 401, which names the way to authenticate', async () => {
  const { status, headers } = await fetch(new URL(`/apps/${ownApp}/imports`, dashboard.url))
  expect([status, headers.get('www-authenticate')]).toEqual([401, 'Session realm="Sluice"'])
})

test.each([
  [`/apps/%/settings/mails`, { 'Content-Length': '9' }, false, 303],
  [`/apps/%/settings/mails`, { 'Content-Length': String(2 ** 30) }, true, 413],
  [`/apps/%/data-import`, { 'Content-Length': '9' }, false, 303],
  [`/apps/%/data-import`, { 'Content-Length': String(2 ** 30), 'Content-Type': 'multipart/form-data' }, true, 413],
])('a client that waits for 100 Continue at %s is refused first (%#)', async (path, headers, isSignedIn, expected) => {
  const cookies = isSignedIn ? { Cookie: member.cookies() } : {}
  const type = { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html' }
  const sent = request(new URL(path.replace('%', String(ownApp)), dashboard.url), {
    ...{ method: 'POST', headers: { ...type, ...headers, ...cookies, Expect: '100-continue' } },
  })
  let isContinued = false
  sent.on('continue', () => {
    isContinued = true
  })
  sent.flushHeaders()
  const [{ statusCode }] = (await once(sent, 'response')) as [IncomingMessage]
  sent.destroy()
  expect([statusCode, isContinued]).toEqual([expected, false])
})

const forms = [
  ['credentials/api-token', { replaces: 'abcd' }],
  ['credentials/access-keys', {}],
  ['credentials/access-keys/delete', { key: 'SLC1K0123456789ABCDEF' }],
  ['profiles/exports', {}],
  ['profiles/deletion/check', { users: 'user-1' }],
  ['profiles/deletion', { users: 'user-1' }],
  ['settings/mails', {}],
  ['settings/members', { email: 'new@example.com' }],
  ['settings/members/remove', { member: 'anna@example.com' }],
  ['settings/invitations/withdraw', { email: 'newcomer@example.com' }],
] as const

describe.each(forms)('the form %s', (path, fields) => {
  test.each([
    ['no token', {}],
    ['an empty one', { form_token: '' }],
    ['an invented one', { form_token: 'A'.repeat(43) }],
  ])('is refused with %s', async (_, token) => {
    const before = await state()
    const answer = await member.postWithoutToken(`/apps/${ownApp}/${path}`, { ...fields, ...token })
    expect(answer.status).toBe(403)
    expect(await state()).toEqual(before)
  })

  test('is refused with the form token of another person, and for another app', async () => {
    const before = await state()
    const page = await (await signIn(dashboard, 'bert@example.com')).get(`/apps/${foreignApp}/settings`)
    const token = formTokenIn(page.text)
    expect((await member.postWithoutToken(`/apps/${ownApp}/${path}`, { ...fields, form_token: token })).status).toBe(
      403,
    )
    expect((await member.post(`/apps/${foreignApp}/${path}`, fields, `/apps/${ownApp}/settings`)).status).toBe(404)
    expect(await state()).toEqual(before)
  })
})

/** Returns everything that the forms could change. */
async function state() {
  return {
    members: await dashboard.db.selectFrom('members').selectAll().orderBy('email').execute(),
    invitations: await dashboard.db.selectFrom('invitations').selectAll().orderBy('email').execute(),
    exports: await dashboard.db.selectFrom('exports').select('export_id').execute(),
    deletions: await dashboard.db.selectFrom('deletion_requests').select('request_id').orderBy('request_id').execute(),
    tokens: await dashboard.db.selectFrom('api_tokens').select('token_hash').orderBy('app_id').execute(),
  }
}

test('signing in and out require a form token as well', async () => {
  const stranger = openVisitor(dashboard)
  for (const path of ['/sign-in', '/sign-in/abc', '/invitations/1/abc', '/sign-out', '/theme']) {
    expect((await stranger.postWithoutToken(path, { email: 'anna@example.com' })).status, path).toBe(403)
  }
  expect((await dashboard.mails()).length).toBe(0)
})

test('every answer forbids foreign content, caching and framing', async () => {
  for (const path of [
    '/',
    '/sign-in',
    `/apps/${ownApp}/settings`,
    '/nowhere',
    '/%zz',
    `/apps/${foreignApp}/settings`,
  ]) {
    const { headers } = await member.get(path)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy, path).toContain("default-src 'none'")
    expect(policy, path).not.toMatch(/unsafe|https?:|\*/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
  }
})

test('an address that no page has is answered with a page that leads on, without a form that would be refused', async () => {
  for (const path of ['/nowhere', '/%zz', '/sign-in/%E0%A4%A']) {
    const { status, headers, text } = await member.get(path)
    expect([status, headers.get('content-type')], path).toEqual([404, 'text/html; charset=utf-8'])
    expect(text, path).toContain('<a href="/">Go to the start page</a>')
    expect(text, path).not.toContain('<form')
  }
})

test.each([
  ['a form that cannot be read', 400, { email: 'a\0b' }],
  ['a form that is too large', 413, { email: 'a'.repeat(70_000) }],
  ['a form that is too old', 403, { email: 'anna@example.com', form_token: 'old' }],
] as const)('%s leads on for somebody who sees no navigation', async (_, status, fields) => {
  const answer = await openVisitor(dashboard).post('/sign-in', fields)
  expect([answer.status, answer.text.includes('<a href="/">Go to the start page</a>')]).toEqual([status, true])
})

test('no page has an inline script, an inline style or an address on another host, and each links to the help but itself', async () => {
  const operator = await signIn(dashboard, 'operator@example.com')
  for (const path of ['/apps', '/queues', '/help', ...pages.map((page) => `/apps/${ownApp}/${page}`)]) {
    const { text } = await operator.get(path)
    expect(text, path).not.toMatch(
      /<script(?![^>]*\bsrc="\/)|<style|\sstyle=|\son\w+=|(?:src|href|action)="(?:https?:)?\/\//,
    )
    expect(text.includes('class="help"'), path).toBe(path !== '/help')
  }
})

test('with an https address, cookies are limited to https and to the host', async () => {
  const secure = await openTestDashboard(async () => ({ dashboardUrl: 'https://dashboard.example.com' }))
  try {
    const answer = await fetch(`${secure.url}/sign-in`)
    const [cookie = ''] = answer.headers.getSetCookie()
    expect(cookie).toMatch(/^__Host-sluice_guest=.*; Secure/)
    expect(answer.headers.get('strict-transport-security')).not.toBeNull()
  } finally {
    await secure.close()
  }
})
