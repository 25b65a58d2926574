import { checkSchema, migrate, migrations, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'

const names = Object.keys(migrations)
const newer = {
  ...migrations,
  '9999-newer': { up: async (db) => void (await sql`create table newer (id integer)`.execute(db)) },
} satisfies typeof migrations

// design.md §2, Migration.
test('processes that migrate an empty database at once apply each migration once', async () => {
  const { url } = await openDatabase({ migrated: false })
  const applied = await Promise.all([migrate(url), migrate(url), migrate(url)])
  expect(applied.flat().toSorted()).toEqual(names)
  expect(await Promise.all([migrate(url), migrate(url), migrate(url)])).toEqual([[], [], []])
})

test('a process refuses a database that lacks one of its migrations', async () => {
  const { url, db } = await openDatabase({ migrated: false })
  await expect(checkSchema(db)).rejects.toThrow('migration 0001-initial is not applied')
  await migrate(url)
  await checkSchema(db)
  await expect(checkSchema(db, newer)).rejects.toThrow('migration 9999-newer is not applied')
})

test('on a schema that a newer release made, a process works, but `sluice migrate` refuses', async () => {
  const { url, db } = await openDatabase()
  expect(await migrate(url, newer)).toEqual(['9999-newer'])
  await checkSchema(db)
  await expect(migrate(url)).rejects.toThrow('this version does not know migration 9999-newer of the database')
})

test('a migration that fails leaves nothing behind, and can be applied later', async () => {
  const { url, db } = await openDatabase()
  const failing: typeof migrations = {
    ...migrations,
    '9999-newer': {
      up: async (tx) => {
        await newer['9999-newer'].up(tx)
        throw new Error('interrupted')
      },
    },
  }
  await expect(migrate(url, failing)).rejects.toThrow('interrupted')
  const { rows } = await sql`select from pg_tables where tablename = 'newer'`.execute(db)
  expect(rows).toHaveLength(0)
  expect(await migrate(url, newer)).toEqual(['9999-newer'])
})

async function openDatabase(options?: { migrated: boolean }) {
  const database = await openTestDatabase(2, options)
  onTestFinished(() => database.close())
  return database
}
