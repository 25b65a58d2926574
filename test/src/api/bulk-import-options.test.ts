import { setImportDefaults } from '@sluice/accounts'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { type App, everything, openApp, openTestApi, send } from './test-api.ts'

// Optional members of the first request: profile_types, new_keys, clear_marker and file_name. Their effect on an import
// is tested in test/src/imports.
const path = '/v3/user_profiles/bulk_import'
const declaration = { checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12' }

const api = openBeforeEach(openTestApi)
let app: App
beforeEach(async () => {
  app = await openApp(api)
})

const request = (members: object) => send(api, app, path, { ...declaration, ...members })

const register = (keys: Record<string, string>) =>
  send(api, app, '/v1/profile_keys', { profile_keys: Object.entries(keys).map(([key, type]) => ({ key, type })) })

async function optionsOf({ headers }: { headers: Record<string, unknown> }) {
  return await api.database.db
    .selectFrom('imports')
    .select(['profile_types', 'new_keys', 'clear_marker', 'file_name'])
    .where('import_id', '=', String(headers['x-import-id']))
    .executeTakeFirst()
}

// second-day.md §1, File name.
test('they are kept with the import, and its view has the name of the file', async () => {
  const answer = await request({
    profile_types: { zip: 'string', __proto__x: 'int' },
    new_keys: 'refuse',
    clear_marker: '#N/A',
    file_name: 'people.csv',
  })
  expect(await optionsOf(answer)).toEqual({
    profile_types: { zip: 'string', __proto__x: 'int' },
    new_keys: 'refuse',
    clear_marker: '#N/A',
    file_name: 'people.csv',
  })
  const view = await send(api, app, `${path}/${answer.headers['x-import-id']}`, undefined, { method: 'GET' })
  expect(view.body).toMatchObject({ file_name: 'people.csv', warnings: [], types: {} })
})

test('without them, nothing is declared and the default of the app applies', async () => {
  const none = { profile_types: {}, clear_marker: null, file_name: null }
  expect(await optionsOf(await request({}))).toEqual({ ...none, new_keys: 'register' })
  await setImportDefaults(api.database.db, app.appId, { new_keys: 'refuse' })
  expect(await optionsOf(await request({}))).toEqual({ ...none, new_keys: 'refuse' })
  expect(await optionsOf(await request({ new_keys: 'register' }))).toEqual({ ...none, new_keys: 'register' })
})

// second-day.md §1, Declared types.
test('a declared type that is registered already is accepted; another type is refused, with a message for each', async () => {
  await register({ zip: 'int', born: 'datetime' })
  expect((await request({ profile_types: { zip: 'int', new: 'string' } })).status).toBe(200)
  const before = await everything(api)
  const answer = await request({ profile_types: { zip: 'string', born: 'string', new: 'string' } })
  const messages = ['born is registered as datetime', 'zip is registered as int'].map(
    (problem) => `Validation failed: profile_types: ${problem}`,
  )
  expect(answer).toMatchObject({ status: 400, body: { error: { messages } } })
  expect(await everything(api)).toEqual(before)
})

test('one answer names every member that is not valid', async () => {
  const answer = await request({ profile_types: { zip: 'x' }, new_keys: 'x', clear_marker: 'a,b', file_name: 7 })
  expect(answer.status).toBe(400)
  expect(
    (answer.body as { error: { messages: string[] } }).error.messages.map((message) => message.split(/[: ]+/)[2]),
  ).toEqual(['profile_types', 'new_keys', 'clear_marker', 'file_name'])
})

// changes.md §2, Asking for it.
test('hold_if is kept as it was given, and the default of the app applies without it', async () => {
  const holdIfOf = async (given: object) => {
    const { headers } = await request(given)
    const row = await api.database.db
      .selectFrom('imports')
      .select(['hold_if', 'is_check'])
      .where('import_id', '=', String(headers['x-import-id']))
      .executeTakeFirstOrThrow()
    return [row.hold_if, row.is_check]
  }
  const bounds = { failed_percent: 0.25, changed_percent: 100, removed_percent: 0, new_keys: 0 }
  expect(await holdIfOf({ hold_if: bounds })).toEqual([bounds, true])
  expect(await holdIfOf({ hold_if: null })).toEqual(['never', false])
  await setImportDefaults(api.database.db, app.appId, { hold_if: { new_keys: 3 } })
  expect(await holdIfOf({})).toEqual([{ new_keys: 3 }, true])
  expect(await holdIfOf({ hold_if: null })).toEqual([{ new_keys: 3 }, true])
  expect(await holdIfOf({ hold_if: 'never' })).toEqual(['never', false])
  expect(await holdIfOf({ hold_if: 'always', dry_run: true })).toEqual(['always', false])
})

test.each([
  ...['sometimes', true, 20, [], {}, { rows: 1 }, { new_keys: 1, rows: 1 }, { new_keys: 0.5 }, { new_keys: -1 }],
  ...[{ new_keys: null }, { failed_percent: 101 }, { failed_percent: -1 }, { changed_percent: '20' }],
])('the hold_if %j is refused with 400', async (holdIf) => {
  const answer = await request({ hold_if: holdIf })
  expect(answer).toMatchObject({
    status: 400,
    body: { error: { messages: [expect.stringMatching(/^Validation failed: hold_if /)] } },
  })
})
