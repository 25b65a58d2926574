import assert from 'node:assert/strict'
import { gunzipSync } from 'node:zlib'
import { auditLogPage } from '@sluice/audit-log'
import { readSettings } from '@sluice/config'
import { sql } from '@sluice/database'
import { listDeletions } from '@sluice/deletions'
import { claimExport, type ExportContext, exportSettings, runExport } from '@sluice/exports'
import { pino } from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openSampleApp } from './sample-app.ts'
import { openApp, openTestDashboard } from './test-dashboard.ts'
import { signIn, type Visitor } from './visitor.ts'

const dashboard = openBeforeAll(openTestDashboard)
let context: ExportContext
beforeAll(async () => {
  const { db, storage } = dashboard
  context = { db, storage, settings: readSettings({}, exportSettings), log: pino({ level: 'silent' }) }
})

async function openShop(email: string): Promise<{ appId: number; page: string; member: Visitor }> {
  const { appId } = await openSampleApp(dashboard, 'Shop', email)
  return { appId, page: `/apps/${appId}/profiles`, member: await signIn(dashboard, email) }
}

async function runNextExport(): Promise<void> {
  const claim = await claimExport(context)
  assert(claim)
  expect(await runExport(context, claim, new AbortController().signal)).toBe('completed')
}

// second-day.md §3, Exports.
describe('exports', () => {
  test('a member requests an export of ticked keys, sees its state and downloads the file', async () => {
    const { page, member } = await openShop('exporter@example.com')
    const asked = await member.post(`${page}/exports`, { key: 'plan' }, page)
    expect([asked.status, asked.headers.get('location')]).toEqual([303, `${page}#exports`])
    const queued = (await member.get(page)).text
    expect(queued).toContain('<span class="badge">Queued</span>')
    expect(queued).not.toContain('>Download<')
    await runNextExport()
    const { text } = await member.get(page)
    expect(text).toContain('<td class="number">500</td>')
    expect(text).toContain('data-refresh="0"')
    const address = /href="([^"]+\/file)">Download/.exec(text)?.[1] ?? ''
    const { status, headers } = await member.get(address)
    expect(status).toBe(302)
    const file = await (await fetch(headers.get('location') ?? '')).arrayBuffer()
    expect(gunzipSync(file).toString().slice(0, 40)).toBe('user_id,plan\nuser-1,basic\nuser-10,basic\n')
    const stranger = await openShop('stranger@example.com')
    expect((await stranger.member.get(address)).status).toBe(404)
    expect((await stranger.member.get(address.replace(page, stranger.page))).status).toBe(404)
  })

  test('an export of a key that is not registered is refused, and the page says so', async () => {
    const { appId, page, member } = await openShop('refused@example.com')
    const refused = await member.post(`${page}/exports`, { key: 'nothing' }, page)
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('A ticked key is not registered, or disabled.')
    expect(await dashboard.db.selectFrom('exports').selectAll().where('app_id', '=', appId).execute()).toEqual([])
  })
})

// changes.md §4.
describe('keys', () => {
  test('a disabled key keeps its values, and no page shows them until it is enabled again', async () => {
    const { page, member } = await openShop('switch@example.com')
    const change = (fields: Record<string, string>) => member.post(`${page}/key`, { key: 'plan', ...fields }, page)
    expect((await member.get(`${page}/key?key=plan`)).text).toContain('Disable plan')
    const asked = await change({ enabled: 'false' })
    expect([asked.status, asked.headers.get('location')]).toEqual([303, `${page}#keys`])
    await change({ description: 'What <b>they</b> pay' })
    const profiles = (await member.get(page)).text
    for (const words of ['4 of 500 keys', '1 disabled key does not count', 'What &lt;b&gt;they&lt;/b&gt; pay'])
      expect(profiles).toContain(words)
    expect(profiles).not.toContain('premium')
    expect((await member.get(`${page}/user?user=user-1`)).text).not.toContain('basic')
    await change({ enabled: 'true' })
    expect((await member.get(page)).text).toContain('premium')
    expect((await member.get(`${page}/user?user=user-1`)).text).toContain('basic')
  })

  test('a key that cannot be changed, or of another app, is refused, and the page says why', async () => {
    const { page, member } = await openShop('wrong-key@example.com')
    const stranger = await openShop('key-stranger@example.com')
    expect((await member.get(`${page}/key?key=nothing`)).status).toBe(404)
    expect((await stranger.member.get(`${page}/key?key=plan`)).status).toBe(404)
    expect((await member.post(`${page}/key`, { key: 'nothing', enabled: 'false' }, page)).status).toBe(404)
    expect((await member.post(`${page}/key`, { key: 'plan' }, page)).status).toBe(400)
    const long = await member.post(`${page}/key`, { key: 'plan', description: 'x'.repeat(256) }, page)
    expect([long.status, long.text]).toEqual([
      400,
      expect.stringContaining('description should be at most 255 characters'),
    ])
    await member.post(`${page}/key`, { key: 'plan', enabled: 'false' }, page)
    await sql`update apps set profile_key_limit = 4`.execute(dashboard.db)
    const full = await member.post(`${page}/key`, { key: 'plan', enabled: 'true' }, page)
    expect([full.status, full.text]).toEqual([409, expect.stringContaining('limit of enabled user profile(4)')])
    await sql`update apps set profile_key_limit = null`.execute(dashboard.db)
  })
})

// service.md, Deletion request.
describe('deletion requests', () => {
  test('before the click, a member sees how many users go, what goes with them, when, and that nothing stops it', async () => {
    const { appId, page, member } = await openShop('deleter@example.com')
    const before = await listDeletions(dashboard.db, appId, 100)
    const users = 'user-1\r\nuser-2\r\nuser-1\r\n\r\nnobody\r\n'
    const { text, status } = await member.post(`${page}/deletion/check`, { users }, page)
    expect(status).toBe(200)
    for (const words of ['cannot be cancelled', '3 users, of which 2 are registered', 'all their profile values']) {
      expect(text).toContain(words)
    }
    expect(text).toMatch(/Not registered<\/strong>: <code class="as-is">nobody<\/code> \. Look for/)
    expect(text).toMatch(/Starts<\/dt><dd><time .*Completes<\/dt><dd><time /s)
    expect(await listDeletions(dashboard.db, appId, 100)).toEqual(before)
    const fields = { users: /name="users" value="([^"]+)"/.exec(text)?.[1] ?? '' }
    const sent = await member.post(`${page}/deletion`, fields, page)
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/apps/${appId}/deletions`])
    const [newest, ...others] = await listDeletions(dashboard.db, appId, 100)
    expect(others).toEqual(before)
    expect(newest).toMatchObject({ state: 'accepted', users_requested: 3, token_last_four: null })
    expect((await member.get(`/apps/${appId}/deletions`)).text).toContain('<td>dashboard</td>')
    const { entries } = await auditLogPage(dashboard.db, { appId, what: 'deletion.request' }, 10)
    expect(entries).toMatchObject([{ target: '3 users', who: 'deleter@example.com', outcome: 'done' }])
    expect(JSON.stringify(entries)).not.toContain('user-1')
  })

  test.each([
    ['no ID', '\r\n', 'There is no user ID.'],
    ['an ID that is too long', `a\r\n${'x'.repeat(256)}`, 'should be at most 255 characters'],
    [
      'too many IDs',
      Array.from({ length: 10_001 }, (_, n) => `${'ü'.repeat(60)}${n}`).join('\n'),
      'There are 10,001 user IDs, more than 10,000.',
    ],
  ])('%s is refused before and at the click', async (_, users, problem) => {
    const email = `no-${problem.length}@example.com`
    const { appId } = await openApp(dashboard, 'Shop', email)
    const member = await signIn(dashboard, email)
    const page = `/apps/${appId}/profiles`
    for (const path of [`${page}/deletion/check`, `${page}/deletion`]) {
      const refused = await member.post(path, { users }, page)
      expect(refused.status).toBe(400)
      expect(refused.text).toContain(problem)
    }
    expect(await listDeletions(dashboard.db, appId, 1)).toEqual([])
  })

  test('a user page leads to the question, unless the deletion is requested or the ID has a line break', async () => {
    const { appId, page, member } = await openShop('one@example.com')
    const button = 'Delete this user…'
    expect((await member.get(`${page}/user?user=user-7`)).text).toContain(button)
    await sql`insert into users (app_id, user_id) values (${appId}, ${'user-1\nuser-2'})`.execute(dashboard.db)
    expect((await member.get(`${page}/user?user=user-1%0Auser-2`)).text).not.toContain(button)
    expect((await member.post(`${page}/deletion`, { users: 'user-7' }, page)).status).toBe(303)
    expect((await member.get(`${page}/user?user=user-7`)).text).not.toContain(button)
  })
})

test('a lookup of what cannot be a user ID says why', async () => {
  const { page, member } = await openShop('empty-lookup@example.com')
  const { status, text } = await member.get(`${page}/user?user=`)
  expect([status, text]).toEqual([404, expect.stringContaining('A user ID must not be empty.')])
  expect(text).not.toContain('is registered')
})

test('a datetime at midnight is shown as its date, which no time zone moves to another day', async () => {
  const { appId, page, member } = await openShop('dates@example.com')
  const attributes = '"last_seen"=>"2026-03-07 00:00:00.000"'
  await sql`update profiles set attributes = ${attributes} where app_id = ${appId} and user_id = 'user-1'`.execute(
    dashboard.db,
  )
  expect((await member.get(`${page}/user?user=user-1`)).text).toContain('<td class="as-is">2026-03-07</td>')
  const other = (await member.get(`${page}/user?user=user-2`)).text
  expect(other).toContain('<span class="hint">2026-01-01 00:02:00 UTC</span>')
})
