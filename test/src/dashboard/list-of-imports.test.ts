import { gzipSync } from 'node:zlib'
import { cancelImport } from '@sluice/imports'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { changeImport } from '../imports/forced-states.ts'
import { importFile, queueFile } from '../imports/import-fixture.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { openTestDashboard } from './test-dashboard.ts'
import { signIn } from './visitor.ts'

// The list of an app's imports.
const dashboard = openBeforeAll(openTestDashboard)

const file = 'user_id,age,plan\nu1,34,basic\nu2,x,basic\nghost,1,pro\nghost,y,pro\n'

test('the list of imports has filters, and shows who uploaded a file and the share of a running import', async () => {
  const { appId, email } = await openAppWith(dashboard, ['u1'])
  const { view } = await importFile(fixtureOf(dashboard), appId, file)
  const visitor = await signIn(dashboard, email)
  const uploaded = await visitor.postFile(`/apps/${appId}/data-import`, 'people.csv', new Blob(['user_id\nu1\n']))
  const running = uploaded.headers.get('location')?.split('/').at(-1) ?? ''
  const half = { state: 'processing', position: 5, started_at: new Date(), attempt: 1 } as const
  await changeImport(dashboard.db, running, half)
  const shown = async (query: string) =>
    [...(await visitor.get(`/apps/${appId}/imports?${query}`)).text.matchAll(/imports\/([0-9a-f-]{36})"/g)].map(
      ([, id]) => id,
    )
  const { text } = await visitor.get(`/apps/${appId}/imports`)
  expect(text).toMatch(new RegExp(`Running.*45\u00a0%.*Dashboard<br><span class="hint">${email}<`, 's'))
  expect((await visitor.get(`/apps/${appId}/imports/${running}`)).text).toContain(` by ${email}`)
  for (const [query, found] of [
    ['', [running, view.import_id]],
    ['state=completed', [view.import_id]],
    ['source=dashboard', [running]],
    ['text=PEOPLE', [running]],
    ['ended=24h', [view.import_id]],
    ['errors=some', [view.import_id]],
    ['dry=only', []],
    ['dry=none&source=dashboard', [running]],
    [`text=${view.import_id.slice(0, 8)}`, [view.import_id]],
    ['since=2999-01-01', []],
    ['until=2999-01-01&source=dashboard', [running]],
    // The filter by app is for operators.
    [`app=${appId + 1}`, [running, view.import_id]],
  ] as const) {
    expect([query, await shown(query)]).toEqual([query, found])
  }
  for (const query of [
    'state=nonsense',
    'since=-200000-01-01T00:00:00Z',
    'until=yesterday',
    'ended=7d',
    'errors=x',
    'dry=x',
  ]) {
    expect([query, (await visitor.get(`/apps/${appId}/imports?${query}`)).status]).toEqual([query, 400])
  }
})

test('the list of imports says why an import failed, and the commonest error of rows', async () => {
  const { appId, email } = await openAppWith(dashboard, ['u1'])
  await importFile(fixtureOf(dashboard), appId, file)
  await importFile(fixtureOf(dashboard), appId, 'user,age\nu1,34\n')
  const { text } = await (await signIn(dashboard, email)).get(`/apps/${appId}/imports`)
  expect([...text.matchAll(/<\/a><br><span class="hint">([^<]*)</g)].map(([, reason]) => reason)).toEqual([
    'user_id column is required',
    'user_id is unregistered user',
  ])
})

test.each([
  { tone: 'warn', what: 'no row, because all have errors', csv: 'user_id,age\nghost,1\n' },
  { tone: 'good', what: 'some rows', csv: file },
  { tone: 'good', what: 'no row, because it has none', csv: 'user_id,age\n' },
])('a completed import that applied $what is marked as $tone, in the list and on its page', async ({ tone, csv }) => {
  const { appId, email } = await openAppWith(dashboard, ['u1'])
  const visitor = await signIn(dashboard, email)
  const badges = async (address: string) => (await visitor.get(address)).text.match(/<span class="badge \w+">\w+</g)
  // The second import finds nothing to change.
  for (const dryRun of [true, false, false]) {
    const { view } = await importFile(fixtureOf(dashboard), appId, csv, { dryRun })
    expect(view.state).toBe('completed')
    const page = `/apps/${appId}/imports/${view.import_id}`
    expect(await badges(page)).toEqual([`<span class="badge ${tone}">Completed<`])
    const isSaid = (await visitor.get(page)).text.includes(
      dryRun ? 'only checked: nothing was' : 'Nothing was applied.',
    )
    expect(isSaid).toBe(dryRun || tone === 'warn')
  }
  const badge = `<span class="badge ${tone}">Completed<`
  expect(await badges(`/apps/${appId}/imports`)).toEqual([badge, badge, badge])
})

test('the list of imports shows the share of a running gzip file, and what requested an import', async () => {
  const { appId, email } = await openAppWith(dashboard, ['u1'])
  const visitor = await signIn(dashboard, email)
  const packed = new Blob([gzipSync(`user_id,age\n${'u1,1\n'.repeat(20)}`)])
  const uploaded = await visitor.postFile(`/apps/${appId}/data-import`, 'people.csv.gz', packed)
  const running = uploaded.headers.get('location')?.split('/').at(-1) ?? ''
  const quarter = { state: 'processing', position: 28, started_at: new Date(), attempt: 1 } as const
  await dashboard.db
    .updateTable('imports')
    .set({ ...quarter, requested_by: 'API token …abcd' })
    .where('import_id', '=', running)
    .execute()
  const { text } = await visitor.get(`/apps/${appId}/imports`)
  expect(text).toMatch(/Running.*25\u00a0%.*<span class="hint">API token …abcd</s)
  const page = await visitor.get(`/apps/${appId}/imports/${running}`)
  expect(page.text).toMatch(/value="25".* by API token …abcd/s)
})

// second-day.md §6, All imports.
test('the list of imports has pages, newest first', async () => {
  const { appId, email } = await openAppWith(dashboard, [])
  const fixture = fixtureOf(dashboard)
  const ids: string[] = []
  for (let number = 0; number < 52; number++) {
    const importId = await queueFile(fixture, appId, file)
    ids.unshift(importId)
    await cancelImport(dashboard.db, { appId, importId })
  }
  const visitor = await signIn(dashboard, email)
  const first = (await visitor.get(`/apps/${appId}/imports`)).text
  const shown = (text: string) => [...text.matchAll(/imports\/([0-9a-f-]{36})"/g)].map(([, id]) => id)
  expect(shown(first)).toEqual(ids.slice(0, 50))
  const older = /href="([^"]+after=[^"]+)"/.exec(first)?.[1] ?? ''
  const second = (await visitor.get(older)).text
  expect(shown(second)).toEqual(ids.slice(50))
  expect(second).not.toContain('after=')
})
