import { createApp } from '@sluice/accounts'
import type { ImportView } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { findImports, type ImportFilter } from '@sluice/imports'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOperator, openTestDashboard, type TestDashboard } from '../dashboard/test-dashboard.ts'
import { signIn } from '../dashboard/visitor.ts'
import { plansOf } from '../environment/plans.ts'
import { sluice } from './command-line.ts'

// Operators find one import among the imports of all apps.
let dashboard: TestDashboard
let db: Database
const apps: number[] = []
const imports = 40_000
const day = 86_400_000
const newest = new Date('2026-03-01T00:00:00Z')

beforeAll(async () => {
  dashboard = await openTestDashboard()
  db = dashboard.db
  await openOperator(dashboard)
  for (const name of ['First', 'Second']) apps.push((await createApp(db, { name, email: 'anna@example.com' })).appId)
  // One import a minute. Few of them failed, came through the bucket, belong to the second app, or have a rare name.
  await sql`
    insert into imports (app_id, source, state, object_key, file_name, content_type, requested_at, rows_failed, dry_run)
    select case when n % 2000 = 7 then ${apps[1]}::integer else ${apps[0]}::integer end,
      case when n % 1500 = 3 then 'bucket' else 'v3' end, case when n % 1000 = 5 then 'failed' else 'completed' end,
      'none', case when n % 4000 = 9 then 'Rare_100%_' || n || '.csv' else 'daily-' || n || '.csv' end, 'text/csv',
      ${newest}::timestamptz - make_interval(mins => n), case when n % 2000 = 11 then 1 else 0 end, n % 2000 = 13
    from generate_series(0, ${imports - 1}::integer) n order by n desc
  `.execute(db)
  await sql`analyze imports`.execute(db)
}, 60_000)
afterAll(async () => await dashboard.close())

const find = async (filter: ImportFilter, limit = 1000) => (await findImports(db, undefined, filter, { limit })).imports

// second-day.md §6, All imports.
test('each filter, and all of them together, find exactly the imports that match, newest first', async () => {
  expect(await find({ appId: apps[1] })).toHaveLength(20)
  expect(await find({ state: 'failed' })).toHaveLength(40)
  expect(await find({ source: 'bucket' })).toHaveLength(27)
  expect(await find({ hasErrors: true })).toHaveLength(20)
  expect(await find({ isDryRun: true })).toHaveLength(20)
  expect(await find({ isDryRun: false, state: 'failed' })).toHaveLength(40)
  expect(await find({ isDryRun: true, hasErrors: true })).toEqual([])
  const rare = await find({ text: 'rare_100%_' })
  expect(rare.map(({ view }) => view.file_name)).toEqual(
    Array.from({ length: 10 }, (_, n) => `Rare_100%_${n * 4000 + 9}.csv`),
  )
  const [sample] = rare
  const id = sample?.view.import_id ?? ''
  for (const text of [id, id.toUpperCase(), id.slice(0, 8)]) {
    expect((await find({ text })).map(({ view }) => view.import_id)).toContain(id)
  }
  const since = new Date(newest.getTime() - 2 * day)
  const until = new Date(newest.getTime() - day)
  const within = await find({ since, until }, 5000)
  expect(within).toHaveLength(1440)
  expect(
    within.every(({ view }) => view.requested_at >= since.toISOString() && view.requested_at < until.toISOString()),
  ).toBe(true)
  expect(await find({ appId: apps[0], state: 'failed', source: 'v3', text: 'daily', since })).toHaveLength(3)
  expect(await find({ text: 'no such name' })).toEqual([])
  expect(await find({ text: 'ab' })).toEqual([])
})

test('pages follow each other without gaps while imports are added, also if several have the same time', async () => {
  await sql`update imports set requested_at = ${newest} where state = 'failed'`.execute(db)
  const seen: string[] = []
  let after: string | undefined
  do {
    const page = await findImports(db, undefined, { state: 'failed' }, { after, limit: 7 })
    seen.push(...page.imports.map(({ view }) => view.import_id))
    after = page.next
    if (seen.length < 15) {
      await sql`
        insert into imports (app_id, source, state, object_key, content_type)
        values (${apps[0]}, 'v2', 'failed', 'none', 'text/csv')
      `.execute(db)
    }
  } while (after !== undefined)
  expect(new Set(seen).size).toBe(40)
  expect(seen).toHaveLength(40)
  for (const after of ["x' or 1", '2026-02-30 00:00:00~1', '1~2~3']) {
    expect(await findImports(db, undefined, {}, { after, limit: 5 })).toEqual({ imports: [], next: undefined })
  }
})

describe('plans', () => {
  const filters: [string, ImportFilter, RegExp][] = [
    ['none', {}, /imports_by_time/],
    ['app', { appId: 2 }, /imports_(by_app|history)/],
    ['state', { state: 'failed' }, /imports_by_state/],
    ['source', { source: 'bucket' }, /imports_by_source/],
    ['errors', { hasErrors: true }, /imports_with_errors/],
    ['dry runs', { isDryRun: true }, /imports_dry_runs/],
    ['the end', { state: 'failed', endedLately: true }, /imports_ended/],
    ['a rare text', { text: 'rare_100' }, /imports_by_file_name/],
    ['a common text', { text: 'daily' }, /imports_by_time/],
    ['an ID', { text: '00000000-0000-4000-8000-000000000000' }, /imports_(by_id|pkey)/],
    [
      'time',
      { since: new Date(newest.getTime() - 20 * day), until: new Date(newest.getTime() - 19 * day) },
      /imports_by_time/,
    ],
  ]

  test.each(filters)(
    'a page with the filter %s reads by index, and only about as many rows as it shows',
    async (_, filter, index) => {
      const all = await plansOf(db, (watched) => findImports(watched, undefined, filter, { limit: 50 }))
      expect(all).toMatch(index)
      // A common text may be found by a scan of the table that stops after enough matches.
      const read = /Seq Scan on imports.*actual rows=(\d+)|Rows Removed by (?:Filter|Index Recheck): (\d+)/g
      const rows = [...all.matchAll(read)].map(([, scanned, removed]) => Number(scanned ?? removed))
      expect(Math.max(0, ...rows)).toBeLessThan(2000)
    },
  )
})

test('the page and the command line show the same imports, to operators only', async () => {
  const operator = await signIn(dashboard, 'operator@example.com')
  const { text, status } = await operator.get(`/imports?source=bucket&app=${apps[0]}`)
  expect(status).toBe(200)
  const shown = [...text.matchAll(/imports\/([0-9a-f-]{36})"/g)].map(([, id]) => id)
  const { json } = await sluice(dashboard.database, ['imports', '--all', '--source', 'bucket'])
  const listed = json as (ImportView & { app_id: number })[]
  expect(shown).toEqual(listed.filter((each) => each.app_id === apps[0]).map((each) => each.import_id))
  expect((await operator.get('/imports?state=nonsense')).status).toBe(400)
  expect((await operator.get('/imports?after=nonsense')).text).toContain('No older import matches.')
  const older = /href="(\/imports\?[^"]*after=[^"]*)"/
    .exec((await operator.get('/imports')).text)?.[1]
    ?.replaceAll('&amp;', '&')
  expect((await operator.get(older ?? '')).text).toContain('Newest')
  const member = await signIn(dashboard, 'anna@example.com')
  expect((await member.get('/imports')).status).toBe(404)
  expect((await sluice(dashboard.database, ['imports'])).code).toBe(2)
  expect((await sluice(dashboard.database, ['imports', '--all', '--state', 'nonsense'])).code).toBe(2)
})

// changes.md §6.
test('a page retries all imports of a filter, and names each that is left alone', async () => {
  const operator = await signIn(dashboard, 'operator@example.com')
  await db.updateTable('imports').set({ finished_at: newest }).where('state', '=', 'failed').execute()
  const address = '/imports/retry?state=failed'
  const list = await operator.get('/imports?state=failed')
  expect(list.text).toContain(`<a class="button" href="${address}">Retry all…</a>`)
  const question = await operator.get(address)
  const failed = await find({ state: 'failed' })
  expect(question.text).toContain(`Retry ${failed.length} imports?`)
  expect(question.text).toContain('<a class="button" href="/imports?state=failed">Back</a>')
  const results = await operator.post('/imports/retry', { imports: shownIn(question.text) }, address)
  expect(results.text).toContain(`${failed.length} imports were left alone:`)
  expect(results.text).toContain(': its file is no longer stored')
})

test('a page cancels the imports that it showed, and none that came later', async () => {
  const operator = await signIn(dashboard, 'operator@example.com')
  const [first, second] = [await queued(apps[0]), await queued(apps[1])]
  const address = '/imports/cancel?state=queued'
  const question = await operator.get(address)
  expect(question.text).toContain('Cancel 2 imports?')
  const later = await queued(apps[1])
  const results = await operator.post('/imports/cancel', { imports: shownIn(question.text) }, address)
  expect(results.text).toContain('2 imports are cancelled.')
  const found = await db
    .selectFrom('imports')
    .select('state')
    .where('import_id', 'in', [first, second, later])
    .execute()
  expect(found.map(({ state }) => state).sort()).toEqual(['cancelled', 'cancelled', 'queued'])
  expect((await (await signIn(dashboard, 'anna@example.com')).get(address)).status).toBe(404)
})

const shownIn = (page: string) => /name="imports" value="([^"]*)"/.exec(page)?.[1] ?? ''

async function queued(appId = 0): Promise<string> {
  const row = { app_id: appId, source: 'v3', state: 'queued', object_key: 'none', content_type: 'text/csv' } as const
  const inserted = db.insertInto('imports').values(row).returning('import_id')
  return (await inserted.executeTakeFirstOrThrow()).import_id
}
