import { describe, expect, test } from 'vitest'
import { eachOnDataImport } from './data-import-fixture.ts'
import { openAppWith } from './import-runs.ts'
import { signIn } from './visitor.ts'

// Mappings of columns that the data import page keeps for the next file with the same columns.
const { dashboard, app, visitor } = eachOnDataImport([])

const mapping = [
  { name: 'ID', key: 'user_id', left_out: false, form: 'as-is' },
  { name: 'Born', key: 'born', left_out: false, form: 'day-first' },
]
const columns = ['ID', 'Born', 'Note']
const keep = (names: readonly string[] = columns, of: unknown = mapping) =>
  send('keep', { columns: JSON.stringify(names), mapping: JSON.stringify(of) })
const find = (names: readonly string[] = columns) => send('find', { columns: JSON.stringify(names) })
const forget = (names: readonly string[] = columns) => send('forget', { columns: JSON.stringify(names) })
const send = (what: string, fields: Record<string, string>) =>
  visitor.post(`${app.page}/mappings/${what}`, fields, app.page)

const rows = () => dashboard.db.selectFrom('column_mappings').selectAll().where('app_id', '=', app.appId).execute()

describe('a kept mapping', () => {
  test('is found by the set of column names, in any order, and by no other set', async () => {
    expect((await keep()).status).toBe(204)
    const found = await find(columns.toReversed())
    expect(JSON.parse(found.text)).toEqual({ mapping, kept_at: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect((await find(['ID', 'Born'])).status).toBe(204)
    expect((await find([...columns, 'More'])).status).toBe(204)
  })

  test('is replaced by the next mapping of these columns, and can be forgotten', async () => {
    await keep()
    const other = [{ name: 'Note', key: 'user_id', left_out: false, form: 'as-is' }]
    await keep(columns, other)
    expect(JSON.parse((await find()).text)).toMatchObject({ mapping: other })
    expect((await forget()).status).toBe(204)
    expect((await find()).status).toBe(204)
    expect(await rows()).toEqual([])
  })

  test('belongs to one app', async () => {
    await keep()
    const other = await openAppWith(dashboard, [])
    const stranger = await signIn(dashboard, other.email)
    const theirs = `/apps/${other.appId}/data-import`
    const fields = { columns: JSON.stringify(columns) }
    expect((await stranger.post(`${app.page}/mappings/find`, fields, theirs)).status).toBe(404)
    expect((await stranger.post(`${theirs}/mappings/find`, fields, theirs)).status).toBe(204)
  })

  test('makes room for newer ones: an app has at most 50', async () => {
    await keep()
    await dashboard.db
      .updateTable('column_mappings')
      .set({ kept_at: '2020-01-01' })
      .where('app_id', '=', app.appId)
      .execute()
    // Ten at once: a person may not have more than 40 forms in flight.
    for (let first = 0; first < 50; first += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, n) => keep(['user_id', 'Born', `c${first + n}`], [mapping[1]])))
    }
    expect(await rows()).toHaveLength(50)
    expect((await find()).status).toBe(204)
    expect((await find(['user_id', 'Born', 'c0'])).status).toBe(200)
  })
})

test.each([
  ['columns that are no list', { columns: '{}', mapping: '[]' }],
  ['no columns', {}],
  ['a column that is not in the file', { columns: '["user_id"]', mapping: JSON.stringify(mapping) }],
  ['values', { columns: '["user_id"]', mapping: '[{"name":"user_id","key":"user_id","values":["anna"]}]' }],
])('a mapping with %s is refused', async (_, fields) => {
  expect((await send('keep', fields as Record<string, string>)).status).toBe(400)
  expect(await rows()).toEqual([])
})

test('requests without the form token are refused', async () => {
  const answer = await visitor.postWithoutToken(`${app.page}/mappings/keep`, {
    columns: JSON.stringify(columns),
    mapping: JSON.stringify(mapping),
  })
  expect(answer.status).toBe(403)
  expect(await rows()).toEqual([])
})
