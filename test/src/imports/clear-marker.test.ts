import { removeValue } from '@sluice/profiles'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { importFile, openApp, openImportFixture, profilesOf } from './import-fixture.ts'

// A cell that equals the clear marker removes the key from the user's profile. `model.property.test.ts` compares any
// mixture of values, markers and empty cells with the model.
const fixture = openBeforeEach(() => openImportFixture({ BATCH_ROWS: '3' }))
let appId: number

beforeEach(async () => {
  appId = await openApp(fixture, ['u1', 'u2', '#N/A'])
})

const clearMarker = '#N/A'
const apply = (file: string, marker: string | null = clearMarker) =>
  importFile(fixture, appId, file, { clearMarker: marker })

const keysOf = async () => {
  const rows = await fixture.database.db.selectFrom('profile_keys').select('key').where('app_id', '=', appId).execute()
  return rows.map(({ key }) => key).sort()
}

// second-day.md §2, Clear marker.
test('it removes keys of every type and sets others in the same row; an empty cell still changes nothing', async () => {
  await apply('user_id,s,i,d,t,e\nu1,x,1,1.5,2026-01-01,kept\nu2,x,1,1.5,2026-01-01,kept\n')
  const { view } = await apply('user_id,s,i,d,t,e\nu1,#N/A,"#N/A",#N/A,#N/A,\nu2,new,#N/A,,,\n')
  expect(view).toMatchObject({ state: 'completed', rows_applied: 2, rows_failed: 0 })
  expect(await profilesOf(fixture, appId)).toMatchObject({
    u1: { e: 'kept' },
    u2: { s: 'new', d: 1.5, t: '2026-01-01 00:00:00.000', e: 'kept' },
  })
  expect(Object.keys((await profilesOf(fixture, appId)).u1 ?? {})).toEqual(['e'])
})

test('of several rows of a user in a batch, the last one decides for each key', async () => {
  await apply('user_id,a,b,c\nu1,1,1,1\n')
  await apply('user_id,a,b,c\nu1,#N/A,2,#N/A\nu1,3,#N/A,\n')
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { a: 3 } })
  expect(Object.keys((await profilesOf(fixture, appId)).u1 ?? {})).toEqual(['a'])
})

test('for a user without a profile, it stores the other values of the row and no null', async () => {
  await apply('user_id,a,b\nu1,1,#N/A\nu2,#N/A,#N/A\n')
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { a: 1 }, u2: {} })
  const rows = await fixture.database.db.selectFrom('profiles').select('user_id').where('app_id', '=', appId).execute()
  expect(rows).toEqual([{ user_id: 'u1' }])
})

// second-day.md §2, Clear marker.
test('it neither counts for a type nor registers a key, and is not compared with user_id', async () => {
  const { view } = await apply('user_id,only,n\nu1,#N/A,#N/A\n#N/A,#N/A,5\n')
  expect(view).toMatchObject({ rows_applied: 2, types: { n: 'int' }, warnings: [] })
  expect(view.types).not.toHaveProperty('only')
  expect(await keysOf()).toEqual(['n'])
  expect(await profilesOf(fixture, appId)).toMatchObject({ '#N/A': { n: 5 } })
})

test('only an exact match counts, and without a marker the same text is a value', async () => {
  await apply('user_id,a\nu1,#N/A \nu2,#n/a\n')
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { a: '#N/A ' }, u2: { a: '#n/a' } })
  await apply('user_id,a\nu1,#N/A\n', null)
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { a: '#N/A' } })
})

// second-day.md §2, Identical rows.
test('the same row with another marker is applied, and with the same marker it is skipped', async () => {
  const file = 'user_id,a,b\nu1,x,y\n'
  await apply(file)
  await apply(file, 'x')
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { b: 'y' } })
  expect((await profilesOf(fixture, appId)).u1).not.toHaveProperty('a')
  const writtenAt = async () =>
    (await fixture.database.db.selectFrom('profiles').select('updated_at').where('user_id', '=', 'u1').execute())[0]
  const before = await writtenAt()
  expect((await apply(file, 'x')).view.rows_applied).toBe(1)
  expect(await writtenAt()).toEqual(before)
  await apply(file)
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { a: 'x', b: 'y' } })
})

test('a row that removes nothing writes nothing', async () => {
  await apply('user_id,a\nu1,1\n')
  const row = async () =>
    await fixture.database.db.selectFrom('profiles').selectAll().where('user_id', '=', 'u1').execute()
  const before = await row()
  await apply('user_id,a,b\nu1,1,#N/A\n')
  expect(await row()).toEqual(before)
})

test('a row with an error removes nothing', async () => {
  await apply('user_id,a,n\nu1,1,1\n')
  const { view, errorFile } = await apply('user_id,a,n\nu1,#N/A,x\n')
  expect(view).toMatchObject({ rows_failed: 1 })
  expect(errorFile?.toString()).toBe('SERVICE_ERRORS,user_id,a,n\nn should be integer,u1,#N/A,x\n')
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { a: 1, n: 1 } })
})

test('a dry run removes nothing', async () => {
  await apply('user_id,a\nu1,1\n')
  await importFile(fixture, appId, 'user_id,a\nu1,#N/A\n', { clearMarker, dryRun: true })
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { a: 1 } })
})

test('after a value was removed for one user, the same row of a file sets it again', async () => {
  const file = 'user_id,a\nu1,1\n'
  await apply(file, null)
  expect(await removeValue(fixture.database.db, appId, 'u1', 'a')).toBe(true)
  expect((await profilesOf(fixture, appId)).u1).toEqual({})
  await apply(file, null)
  expect(await profilesOf(fixture, appId)).toMatchObject({ u1: { a: 1 } })
})
