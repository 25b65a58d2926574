import { beforeEach, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { importFile, openApp, openImportFixture } from './import-fixture.ts'

// `rows_changed`: how many rows of a file wrote something.
const fixture = openBeforeAll(() => openImportFixture({ BATCH_ROWS: '50' }))
let appId: number
const users = Array.from({ length: 200 }, (_, index) => `u${index}`)
beforeEach(async () => {
  appId = await openApp(fixture, users)
})

const file = (score: (index: number) => number) =>
  `user_id,score,name\n${users.map((user, index) => `${user},${score(index)},n${index}\n`).join('')}`
const changedBy = async (content: string, dryRun = false, clearMarker: string | null = null) => {
  const { view } = await importFile(fixture, appId, content, { dryRun, clearMarker })
  return [view.rows_applied, view.rows_changed]
}

// second-day.md §3, Rows changed.
test('the first import changes each row, the same file again none, and a file with other values those rows', async () => {
  expect(await changedBy(file((index) => index))).toEqual([200, 200])
  expect(await changedBy(file((index) => index))).toEqual([200, 0])
  expect(await changedBy(file((index) => (index % 10 === 0 ? -1 : index)))).toEqual([200, 20])
})

test('rows with the stored values in another form change nothing', async () => {
  await changedBy(file((index) => index))
  const others = `user_id,name,score\n${users.map((user, index) => `${user},n${index},+${index}\n`).join('')}`
  expect(await changedBy(others)).toEqual([200, 0])
})

test('rows without a value and invalid rows change nothing; a dry run counts what it would change', async () => {
  expect(await changedBy('user_id,score\nu1,\nu2,1\nnobody,1\n')).toEqual([2, 1])
  expect(
    await changedBy(
      file((index) => index + 1_000),
      true,
    ),
  ).toEqual([0, 200])
})

test('first profiles and changed profiles in the same batch are counted together', async () => {
  await changedBy('user_id,score\nu0,1\nu2,2\n')
  expect(await changedBy('user_id,score\nu0,9\nu1,1\nu2,2\nu3,3\n')).toEqual([4, 3])
})

// changes.md §1, Counts.
test('rows of one user count one by one, as the preceding rows leave the profile, wherever batches end', async () => {
  const rows = [
    'u1,1,a',
    'u2,1,',
    'u1,2,a',
    'u1,2,a',
    'u3,1,a',
    'nobody,1,a',
    'u1,1,a',
    'u2,1,b',
    'u2,,',
    'u1,x,z',
    'u3,1.0,',
  ]
  const content = `user_id,score,name\n${rows.join('\n')}\n`
  const removals = `user_id,score,name\n${['u1,-,', 'u1,-,', 'u1,1,', 'u2,2,-', 'u2,1,-'].join('\n')}\n`
  const profileTypes = { score: 'decimal' } as const
  for (const size of ['1', '2', '3', '50']) {
    const app = await openApp(fixture, users)
    const settings = { ...fixture.context.settings, BATCH_ROWS: Number(size) }
    const cut = { ...fixture, context: { ...fixture.context, settings } }
    const changed = async (file: string, clearMarker: string | null = null) =>
      (await importFile(cut, app, file, { profileTypes, clearMarker })).view.rows_changed
    expect([await changed(content), await changed(content), await changed(removals, '-')], size).toEqual([6, 2, 4])
  }
})

test('a row with a clear marker counts if it removes or sets a value; such batches count the rows without one too', async () => {
  await changedBy('user_id,score,name\nu0,1,a\nu1,1,a\nu2,1,a\n')
  const removals = 'user_id,score,name\nu0,-,\nu1,1,-\nu2,1,a\nu3,5,-\nu4,-,-\nu5,-,\n'
  expect(await changedBy(removals, false, '-')).toEqual([6, 3])
  expect(await changedBy(removals, false, '-')).toEqual([6, 0])
})
