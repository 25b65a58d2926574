import { type AuditAction, auditLogPage, recordEvent } from '@sluice/audit-log'
import { sql } from '@sluice/database'
import { beforeAll, describe, expect, test } from 'vitest'
import { openApp, openOperator, openTestDashboard } from '../dashboard/test-dashboard.ts'
import { signIn, type Visitor } from '../dashboard/visitor.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { plansOf } from '../environment/plans.ts'

// The pages of the audit log. audit-log.test.ts has what leaves an entry.
const dashboard = openBeforeAll(openTestDashboard)
let member: Visitor
let operator: Visitor
let appId: number
beforeAll(async () => {
  await openOperator(dashboard)
  appId = (await openApp(dashboard, 'Shop', 'anna@example.com')).appId
  member = await signIn(dashboard, 'anna@example.com')
  operator = await signIn(dashboard, 'operator@example.com')
})

// second-day.md §6, Audit log.
test('the pages show the log of the app to its members and the log of all apps to operators, and offer it as a file', async () => {
  const other = await openApp(dashboard, 'Other', 'eve@example.com')
  const event = { who: { type: 'cli', name: 'root' }, what: 'app.create', target: '<i>other</i>' } as const
  await recordEvent(dashboard.db, { ...event, appId: other.appId })
  await recordEvent(dashboard.db, { appId, who: { type: 'cli', name: 'root' }, what: 'token.register' })
  const own = await member.get(`/apps/${appId}/audit-log`)
  expect(own.text).toContain('<td>Registered a new API token')
  expect(own.text).not.toContain('<td>Created the app')
  expect((await member.get('/audit-log')).status).toBe(404)
  expect((await member.get('/audit-log/file')).status).toBe(404)
  const all = await operator.get('/audit-log')
  expect(all.text).toContain('&lt;i&gt;other&lt;/i&gt;')
  const file = await operator.get('/audit-log/file')
  const lines = file.text.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual((await auditLogPage(dashboard.db, {}, 1000)).entries)
})

test('the pages of the log follow each other without gaps, and a made-up position shows nothing', async () => {
  const { appId: app } = await openApp(dashboard, 'Busy', 'busy@example.com')
  for (let n = 0; n < 120; n++) {
    const who = { type: 'cli', name: 'root' } as const
    await recordEvent(dashboard.db, { appId: app, who, what: 'app.rename', target: `name ${n}.` })
  }
  const seen: string[] = []
  for (let next: string | undefined = `/apps/${app}/audit-log`; next !== undefined; ) {
    const { text } = await operator.get(next)
    seen.push(...[...text.matchAll(/name (\d+)\./g)].map(([, n = '']) => n))
    next = /href="([^"]+\?before=[^"]+)">Older/.exec(text)?.[1]?.replaceAll('&amp;', '&')
  }
  expect(seen).toEqual(Array.from({ length: 120 }, (_, n) => String(119 - n)))
  for (const before of ['x', '2026-02-30 00:00:00~1', '1~2~3', "1796000000000000~1'", '']) {
    const page = await operator.get(`/apps/${app}/audit-log?before=${encodeURIComponent(before)}`)
    expect([before, page.status, /name \d+\./.test(page.text)]).toEqual([before, 200, false])
  }
})

describe('filters of the log', () => {
  let app: number
  const address = () => `/apps/${app}/audit-log`
  const at = (day: string) => sql`${`2026-03-${day}T12:00:00Z`}::timestamptz`
  beforeAll(async () => {
    app = (await openApp(dashboard, 'Filtered', 'flora@example.com')).appId
    const row = (who: string, what: AuditAction, day: string) =>
      sql`(${app}::integer, ${at(day)}, 'member', ${who}, ${what}, 'done')`
    await sql`
      insert into audit_log (app_id, at, who_type, who, what, outcome) values
      ${sql.join([
        row('ann@example.com', 'app.pause', '01'),
        row('ann@example.com', 'app.resume', '02'),
        row('ben@example.com', 'app.pause', '03'),
        row('ben@example.com', 'app.resume', '04'),
      ])}
    `.execute(dashboard.db)
    // A long log of all apps in which one person and one action are rare.
    await sql`
      insert into audit_log (app_id, at, who_type, who, what, outcome)
      select ${app + 1000}::integer, '2026-01-01'::timestamptz + n * interval '1 minute', 'member',
        case when n % 5000 = 7 then 'rare@example.com' else 'usual@example.com' end,
        case when n % 5000 = 9 then 'app.rename' else 'sign_in' end, 'done'
      from generate_series(1, 40000) n
    `.execute(dashboard.db)
    await sql`analyze audit_log`.execute(dashboard.db)
  })

  test.each([
    ['who=Ann@Example.com', ['app.resume', 'app.pause']],
    ['who=nobody@example.com', []],
    ['what=app.pause', ['app.pause', 'app.pause']],
    ['since=2026-03-02&until=2026-03-04', ['app.pause', 'app.resume']],
    ['who=ben@example.com&what=app.resume&since=2026-03-01', ['app.resume']],
  ])('%s finds the entries that match, on the page and in the file', async (query, expected) => {
    const { status, text } = await operator.get(`${address()}?${query}`)
    expect(status).toBe(200)
    const words: Record<string, string> = {
      'Paused the imports of the app': 'app.pause',
      'Resumed the imports of the app': 'app.resume',
    }
    const shown = [...text.matchAll(/<td>((?:Paused|Resumed) the imports of the app)<\/td>/g)]
    expect(shown.map(([, action = '']) => words[action])).toEqual(expected)
    const [, file = ''] = /href="([^"]+)">Download all/.exec(text) ?? []
    const lines = (await operator.get(file.replaceAll('&amp;', '&'))).text.split('\n').filter(Boolean)
    expect(lines.map((line) => JSON.parse(line).what)).toEqual(expected)
  })

  test.each(['what=nothing', 'what=toString', 'since=yesterday', 'until=-200000-01-01', 'since=0000-01-01'])(
    'the invalid filter %s is refused with its reason, and the form keeps the others',
    async (query) => {
      const { status, text } = await operator.get(`${address()}?who=ann@example.com&${query}`)
      expect(status).toBe(400)
      expect(text).toMatch(/role="alert">(There is no such action|The (first|second) time is not a time)\./)
      expect(text).toContain('name="who" maxlength="255" value="ann@example.com"')
      expect(text).not.toContain('Download all')
    },
  )

  test('the next page keeps the filters', async () => {
    const { text } = await operator.get('/audit-log?who=usual@example.com')
    expect(text).toMatch(/href="\/audit-log\?who=usual%40example.com&amp;before=[^"]+">Older/)
  })

  test.each([
    ['a person', { who: 'rare@example.com' }, /audit_log_by_person/],
    ['an action', { what: 'app.rename' }, /audit_log_by_action/],
    ['a time', { since: new Date('2026-01-10'), until: new Date('2026-01-11') }, /audit_log_by_time/],
    ['a person in a large app', { appId: 0, who: 'rare@example.com' }, /audit_log_(by_person|pkey)/],
  ] as const)(
    'a page of %s is read by index, and reads about as many entries as it shows',
    async (_, filter, index) => {
      const plan = await plansOf(dashboard.db, (watched) => auditLogPage(watched, filter, 50))
      expect(plan).toMatch(index)
      expect(plan).not.toMatch(/Seq Scan|Rows Removed by Filter: \d{4}/)
    },
  )
})
