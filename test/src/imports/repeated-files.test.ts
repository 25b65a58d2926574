import assert from 'node:assert/strict'
import { sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { changeKeys, joinedProfileUpdates, registerUsers, removeValue } from '@sluice/profiles'
import fc from 'fast-check'
import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { openDeletionFixture, request, runAt, schedule } from '../deletions/deletion-fixture.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import { fileOf, rowsOfEachUser, options as typed, users as usersOfFiles } from './changed-files.ts'
import { openApp, type Result, type TestApp, testApp } from './import-fixture.ts'
import { slowReads } from './slow-storage.ts'

// If most rows of a file change nothing, the worker reads what all profiles hold. It then skips known rows without
// asking Postgres about their users. These tests act after that reading.
const users = Array.from({ length: 40 }, (_, index) => `u${index}`)
const lateUser = 'u35'
/** The program that looks rows up does not read this ID. */
const quotedUser = 'a "b"'
const cell = (text: string) => (text.includes('"') ? `"${text.replaceAll('"', '""')}"` : text)
const row = (userId: string, value = 'a', other = 'b') => `${cell(userId)},${value},${other}\n`
const header = 'user_id,k,l\n'
const rowsOf = (ids: readonly string[]) => ids.map((id) => row(id)).join('')
const file = header + rowsOf(users)

const fixture = openBeforeEach(openDeletionFixture)
let app: TestApp

async function openTestApp(): Promise<TestApp> {
  const settings = { ...fixture.context.settings, BATCH_ROWS: 2 }
  const small = { ...fixture, context: { ...fixture.context, settings } }
  return testApp(small, await openApp(small, [...users, quotedUser, ...usersOfFiles]))
}

beforeEach(async () => {
  app = await openTestApp()
  await app.importFile(file)
})

/** Returns a log that calls `then` when an import has read what the profiles hold. */
function logWhenRead(then: () => void) {
  return pino({}, { write: (line) => void (line.includes('hashes of the profiles read') && then()) })
}

/** Runs an import. Calls `act` once the profiles were read, before the following rows are read. */
async function runActing(importId: string, act?: () => Promise<unknown>): Promise<Result> {
  let state: 'reading is to come' | 'read' | 'acted' = 'reading is to come'
  const log = logWhenRead(() => {
    state = 'read'
  })
  const storage = slowReads(app.storage, 20, async () => {
    if (state !== 'read') return
    state = 'acted'
    await act?.()
  })
  expect(await app.run(importId, { log, storage })).toMatchObject({ outcome: 'completed' })
  expect(state).toBe('acted')
  return await app.resultOf(importId)
}

async function repeat(text: string, act?: () => Promise<unknown>): Promise<Result['view']> {
  return (await runActing(await app.queue(text), act)).view
}

const update = (userId: string, value: string) =>
  joinedProfileUpdates(app.db, 500)(app.appId, userId, [{ key: 'k', type: 'string', value }])

// second-day.md §2, Identical rows.
test('a repeated file changes nothing, and all of its rows count as applied', async () => {
  expect(await repeat(file)).toMatchObject({ rows_total: 40, rows_applied: 40, rows_failed: 0, rows_changed: 0 })
})

// second-day.md §2, Identical rows.
test.each([lateUser, quotedUser])(
  'rows of %s: another row and then the known one leave the known one, near each other or far apart',
  async (user) => {
    await app.importFile(header + row(user))
    const other = row(user, 'c')
    for (const between of ['', rowsOf(users.slice(0, 9))]) {
      const text = header + rowsOf(users.slice(0, 30)) + row(user) + other + between + row(user)
      expect(await repeat(text)).toMatchObject({ rows_failed: 0, rows_changed: 2 })
      expect((await app.profiles())[user]).toEqual({ k: 'a', l: 'b' })
    }
    await repeat(`${header}${rowsOf(users.slice(0, 30))}${row(user)}${other}`)
    expect((await app.profiles())[user]).toEqual({ k: 'c', l: 'b' })
  },
)

test('a value that was written before the import began is overwritten by the row', async () => {
  await update(lateUser, 'of an update')
  await repeat(file)
  expect((await app.profiles())[lateUser]).toEqual({ k: 'a', l: 'b' })
})

test.each([
  ['a profile update', () => update(lateUser, 'later'), { k: 'later', l: 'b' }],
  ['the removal of a value', () => removeValue(app.db, app.appId, lateUser, 'k'), { l: 'b' }],
])('%s while the file is applied counts as coming after the row', async (_, act, profile) => {
  expect(await repeat(file, act)).toMatchObject({ rows_applied: 40, rows_failed: 0, rows_changed: 0 })
  expect((await app.profiles())[lateUser]).toEqual(profile)
  // The next import of the same file comes after the update.
  expect(await repeat(file)).toMatchObject({ rows_changed: 1 })
  expect((await app.profiles())[lateUser]).toEqual({ k: 'a', l: 'b' })
})

describe('a deletion that completes while the file is applied', () => {
  const deleteLate = async () => {
    await request(fixture, app.appId, [lateUser], schedule.accepted)
    await runAt(fixture, schedule.completion)
  }

  test('takes the user, and the row counts as applied before', async () => {
    const text = `${file}${row(lateUser, 'c')}${row(lateUser)}`
    expect(await repeat(text, deleteLate)).toMatchObject({ rows_applied: 42, rows_failed: 0, rows_changed: 0 })
    expect(await app.profiles()).not.toHaveProperty(lateUser)
  })

  test('leaves a user who was registered again without values, and the next import writes them', async () => {
    const act = async () => {
      await deleteLate()
      await registerUsers(app.db, app.appId, [lateUser])
    }
    expect(await repeat(file, act)).toMatchObject({ rows_applied: 40, rows_changed: 0 })
    expect((await app.profiles())[lateUser]).toEqual({})
    expect(await repeat(file)).toMatchObject({ rows_applied: 40, rows_changed: 1 })
    expect((await app.profiles())[lateUser]).toEqual({ k: 'a', l: 'b' })
  })
})

// changes.md §4.
test('after a key is enabled, no row is known, and its values are written', async () => {
  const setKey = (enabled: boolean) => changeKeys(app.db, app.appId, { keys: ['l'], enabled }, 500)
  await setKey(false)
  const text = header + users.map((id) => row(id, 'c', 'new')).join('')
  await app.importFile(text)
  await repeat(text, () => setKey(true))
  expect((await app.profiles())[lateUser]).toEqual({ k: 'c', l: 'new' })
})

test.each([
  ['other columns', 'user_id,l,k\n', {}, { k: 'b', l: 'a' }],
  ['a clear marker', header, { clearMarker: 'b' }, { k: 'a' }],
])('under %s, no row is known', async (_, names, options, profile) => {
  // The first rows change nothing under the new columns either.
  await app.importFile(names + rowsOf(users.slice(0, 30)), options)
  const importId = await app.queue(names + rowsOf(users), 'text/csv', false, options)
  await runActing(importId)
  expect((await app.profiles())[lateUser]).toEqual(profile)
})

describe('profiles that hold all values of a row take its hash', () => {
  const swapped = `user_id,l,k\n${users.map((id) => row(id, 'b', 'a')).join('')}`
  const stored = () =>
    app.db.selectFrom('profiles').select(['user_id', 'row_hash', 'updated_at']).orderBy('user_id').execute()
  const updatedAt = async () => (await stored()).map((profile) => [profile.user_id, profile.updated_at])

  test('if files of a new form follow each other: the third one is known', async () => {
    const written = await updatedAt()
    for (let day = 1; day <= 2; day++) {
      expect((await app.importFile(swapped)).view).toMatchObject({ rows_applied: 40, rows_changed: 0 })
    }
    expect(await repeat(swapped)).toMatchObject({ rows_applied: 40, rows_changed: 0 })
    expect(await updatedAt()).toEqual(written)
  })

  test('not if files of two forms alternate: each would write all profiles', async () => {
    const hashes = (await stored()).map((profile) => profile.row_hash)
    for (const text of [swapped, file, swapped, file]) await app.importFile(text)
    expect((await stored()).map((profile) => profile.row_hash)).toEqual(hashes)
  })

  test('if an update of another value has removed their hash, unless updates come between any two files', async () => {
    const set = joinedProfileUpdates(app.db, 500)
    const hash = async () => (await stored()).find((profile) => profile.user_id === lateUser)?.row_hash
    for (const value of ['x', 'y']) {
      await set(app.appId, lateUser, [{ key: 'm', type: 'string', value }])
      expect(await repeat(file)).toMatchObject({ rows_applied: 40, rows_changed: 0 })
      expect(await hash()).toBeNull()
    }
    expect(await repeat(file)).toMatchObject({ rows_applied: 40, rows_changed: 0 })
    expect(await hash()).not.toBeNull()
    expect((await app.profiles())[lateUser]).toEqual({ k: 'a', l: 'b', m: 'y' })
  })

  test('once only if a user has rows in several batches, each with another hash', async () => {
    const versions = async () => await sql`select user_id, xmin from profiles order by user_id`.execute(app.db)
    const text = `${swapped}${row('u1', 'b', 'a').replace('b', '"b"')}`
    await app.importFile(text)
    await app.importFile(text)
    const { rows } = await versions()
    await app.importFile(text)
    expect((await versions()).rows).toEqual(rows)
  })

  test.each([{ keepChanges: true }, { clearMarker: '#' }])('also with %j', async (given) => {
    for (let day = 1; day <= 2; day++) {
      expect((await app.importFile(swapped, given)).view).toMatchObject({ rows_changed: 0 })
    }
    const importId = await app.queue(swapped, 'text/csv', false, given)
    expect((await runActing(importId)).view).toMatchObject({ rows_applied: 40, rows_changed: 0 })
  })
})

test('the next worker reads the profiles again after a hand-over, and the counts stay exact', async () => {
  const text = `${file}${row(lateUser, 'c')}nobody,x,y\n`
  const importId = await app.queue(text)
  const shutdown = new AbortController()
  const context = { ...app.context, log: logWhenRead(() => shutdown.abort()) }
  expect(await runImport(context, await app.claim(importId), shutdown.signal)).toMatchObject({ outcome: 'interrupted' })
  const { view } = await app.resultOf(importId)
  expect(view.rows_total).toBeGreaterThan(0)
  expect(view.rows_total).toBeLessThan(40)
  await update(lateUser, 'between')
  const ended = await runActing(importId)
  expect(ended.view).toMatchObject({ rows_total: 42, rows_applied: 41, rows_failed: 1, rows_changed: 2 })
  expect((await app.profiles())[lateUser]).toEqual({ k: 'c', l: 'b' })
})

test('rows are known although Postgres takes the table for nearly empty', async () => {
  await sql`delete from profiles`.execute(app.db)
  await app.importFile(`${header}${row('u0')}`)
  await sql`vacuum (analyze, truncate off) profiles`.execute(app.db)
  await app.importFile(file)
  expect(await repeat(file, () => update(lateUser, 'later'))).toMatchObject({ rows_changed: 0 })
})

test('without memory for the profiles, rows are looked up; the memory is free again after each import', async () => {
  // Pages of profiles that other tests deleted would count.
  await sql`truncate profiles`.execute(app.db)
  await app.importFile(file)
  const readings = async (memory: number) => {
    let read = 0
    const log = logWhenRead(() => void read++)
    const settings = { ...app.context.settings, KNOWN_ROWS_MEMORY: memory }
    for (let repetition = 0; repetition < 3; repetition++) {
      const importId = await app.queue(file)
      await app.run(importId, { settings, log })
      expect((await app.resultOf(importId)).view).toMatchObject({ rows_applied: 40, rows_changed: 0 })
    }
    return read
  }
  expect(await readings(100)).toBe(0)
  // Enough for one reading of a page of profiles, and not for two.
  expect(await readings(2_000)).toBe(3)
})

test('with memory for more profiles than one set may have, rows are looked up', async () => {
  await sql`
    update pg_class set reltuples = 4e8, relpages = pg_relation_size(oid) / 8192 where oid = 'profiles'::regclass
  `.execute(app.db)
  const settings = { ...app.context.settings, KNOWN_ROWS_MEMORY: 8e9 }
  const importId = await app.queue(file)
  const outcome = await app.run(importId, { settings })
  // Other tests use the same database.
  await sql`analyze profiles`.execute(app.db)
  expect(outcome).toMatchObject({ outcome: 'completed' })
  expect((await app.resultOf(importId)).view).toMatchObject({ rows_applied: 40, rows_changed: 0 })
})

test('for any repeated file with other rows between, known rows leave and count what looking them up does', async () => {
  const mixed = fc.tuple(rowsOfEachUser, rowsOfEachUser).chain(([some, others]) => {
    // The first rows repeat, so that the profiles are read. No other row is about their users.
    const known = [...users.slice(10, 18).map((userId) => [userId, 'x', '1', '1.5', '2025-01-01T00:00:00Z']), ...some]
    const between = fc.array(fc.constantFrom(...known, ...others, ['nobody', 'x', '1', '', '']), { maxLength: 20 })
    return fc.record({ known: fc.constant(known), between, dryRun: fc.boolean() })
  })
  let readings = 0
  await fc.assert(
    fc.asyncProperty(mixed, async ({ known, between, dryRun }) => {
      const outcomes = []
      for (const memory of [0, 100_000_000]) {
        const one = await openTestApp()
        const settings = { ...one.context.settings, KNOWN_ROWS_MEMORY: memory, BATCH_ROWS: 1 }
        const context = { settings, log: logWhenRead(() => void readings++) }
        await one.importFile(fileOf(known), typed)
        const importId = await one.queue(fileOf([...known, ...between]), 'text/csv', dryRun, typed)
        await one.run(importId, context)
        const { view, errorFile, changesFile } = await one.resultOf(importId)
        const { rows_total, rows_applied, rows_failed, rows_changed, changes, warnings } = view
        assert(view.state === 'completed')
        outcomes.push({
          ...{ rows_total, rows_applied, rows_failed, rows_changed, changes, warnings },
          ...{ errorFile: errorFile?.toString(), changesFile, profiles: await one.profiles() },
        })
      }
      expect(outcomes[1]).toEqual(outcomes[0])
    }),
    { numRuns: propertyRuns(60) },
  )
  expect(readings).toBe(propertyRuns(60))
})
