import { runImport } from '@sluice/imports'
import { joinedProfileUpdates } from '@sluice/profiles'
import pg from 'pg'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ProfileBatch } from '../../../packages/engine/batches/src/documents/profile-batch.ts'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import {
  claim,
  type ImportFixture,
  importFile,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
  resultOf,
} from './import-fixture.ts'

// Three batches of an import are in flight at the same moment. The result is as if each batch had waited for the
// preceding batch.
let fixture: ImportFixture
let appId: number
let other: pg.Client
const users = ['a1', 'a2', 'b1', 'b2', 'c1', 'c2']

beforeEach(async () => {
  fixture = await openImportFixture({ BATCH_ROWS: '2' })
  appId = await openApp(fixture, users)
  // Registers the key, because a batch that may register keys is in flight alone. Gives each user a profile to lock.
  await importFile(fixture, appId, rowsOf(users.map((user) => [user, 0])))
  other = new pg.Client({ connectionString: fixture.database.url })
  await other.connect()
  return async () => {
    await other.end()
    await fixture.close()
  }
})

const rowsOf = (values: readonly (readonly [string, number])[]) =>
  `user_id,n\n${values.map(([user, value]) => `${user},${value}\n`).join('')}`
const inOrder = rowsOf(users.map((user, index) => [user, index + 1]))
const allApplied = Object.fromEntries(users.map((user, index) => [user, { n: index + 1 }]))

/** Starts an import whose batches are `a1 a2`, `b1 b2` and `c1 c2`. */
async function start(app = appId): Promise<{ importId: string; running: ReturnType<typeof runImport> }> {
  const importId = await queueFile(fixture, app, inOrder)
  const running = runImport(fixture.context, await claim(fixture, app, importId), new AbortController().signal)
  return { importId, running }
}

const lockUser = (user: string) =>
  other.query(`select from profiles where app_id = $1 and user_id = $2 for update`, [appId, user])

/** Returns how many transactions wait for a lock of this kind. */
const waiting = async (kind: 'advisory' | 'transactionid') => (await lockWaits(fixture.database.db, kind)).length

/** Waits until each batch after the first one waits for the preceding batch. */
const untilOthersWait = () =>
  until('the second and the third batch to wait', async () => (await waiting('advisory')) === 2)

/**
 * Makes writing a batch slower than looking up its users, as in large batches. Notes the statement of each committed
 * batch, and counts the statements that began: a rollback does not undo the count of a sequence.
 */
const slowNotedInserts = `
  create sequence begun;
  create table noted (place serial, command text);
  create function note() returns trigger language plpgsql as $$ begin
    perform nextval('begun'), pg_sleep(0.02);
    insert into noted (command) values (substring(current_query() from '^copy|insert'));
    return null;
  end $$;
  create trigger note before insert on profiles
    for each statement when (current_setting('application_name') = 'sluice') execute function note()`

/**
 * SQL for a trigger that records, for each profile the service writes, the start of the transaction and the time of the
 * write.
 */
const notedWrites = `
  create table writes (user_id text, begun timestamptz, written timestamptz);
  create function note_write() returns trigger language plpgsql as $$ begin
    insert into writes values (new.user_id, transaction_timestamp(), clock_timestamp());
    return null;
  end $$;
  create trigger note_write after insert or update on profiles
    for each row when (current_setting('application_name') = 'sluice') execute function note_write()`

/**
 * Imports a file of `batches` batches for users without profiles. For each batch in `conflicting`, another transaction
 * inserts the first profile of one of its users. Returns how many inserts into profiles began, and the commands of the
 * committed ones.
 */
async function importWithConflicts(
  batches: number,
  conflicting: number[],
): Promise<{ begun: number; committed: string[] }> {
  const many = Array.from({ length: batches * 2 }, (_, index) => `user-${index}`)
  const app = await openApp(fixture, [...many, 'z'])
  await importFile(fixture, app, rowsOf([['z', 0]]))
  await other.query(slowNotedInserts)
  const updates = await Promise.all(conflicting.map((batch) => insertProfile(app, `user-${batch * 2}`)))
  const importId = await queueFile(fixture, app, rowsOf(many.map((user, index) => [user, index])))
  const running = runImport(fixture.context, await claim(fixture, app, importId), new AbortController().signal)
  for (const update of updates) {
    await update.untilConflict()
    await untilOthersWait()
    await update.commit()
  }
  expect(await running).toMatchObject({ outcome: 'completed' })
  const begun = await other.query<{ last_value: string }>('select last_value from begun')
  const noted = await other.query<{ command: string }>('select command from noted order by place')
  return { begun: Number(begun.rows[0]?.last_value), committed: noted.rows.map(({ command }) => command) }
}

/**
 * Inserts a user's profile in a separate transaction, which stays open. `untilConflict` waits until this transaction
 * blocks a batch.
 */
async function insertProfile(app: number, user: string) {
  const client = new pg.Client({ connectionString: fixture.database.url })
  await client.connect()
  await client.query('begin')
  await client.query(`insert into profiles (app_id, user_id, attributes) values ($1, $2, 'm=>1')`, [app, user])
  const kept = 'select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))'
  return {
    untilConflict: () => until(`a batch with ${user} to wait`, async () => (await client.query(kept)).rowCount === 1),
    async commit() {
      await client.query('commit')
      await client.end()
    },
  }
}

async function progressOf(importId: string): Promise<number> {
  const { view } = await resultOf(fixture, appId, importId)
  return view.rows_total
}

test('the last of several rows of a user holds, even if they are in neighbouring batches', async () => {
  const values = Array.from({ length: 60 }, (_, index): [string, number] => [users[(index * 5) % 6] ?? '', index])
  const { view } = await importFile(fixture, appId, rowsOf(values))
  expect(view).toMatchObject({ state: 'completed', rows_applied: 60, rows_failed: 0 })
  const last = Object.fromEntries(values.map(([user, n]) => [user, { n }]))
  expect(await profilesOf(fixture, appId)).toEqual(last)
})

test('a batch that shares a user with the preceding batch begins after its commit: the user’s profile is about to change', async () => {
  await importFile(fixture, appId, rowsOf([['a1', 7]]))
  await other.query(notedWrites)
  await other.query('begin')
  await lockUser('b1')
  const compared = vi.spyOn(ProfileBatch.prototype, 'sharesUsersWith')
  onTestFinished(() => compared.mockRestore())
  const rows: [string, number][] = [
    ['a1', 8],
    ['b1', 1],
    ['a1', 7], // the profile holds this value until the first batch is committed
    ['b2', 1],
  ]
  const importing = importFile(fixture, appId, rowsOf(rows))
  await until('the first batch to wait for the lock', async () => (await waiting('transactionid')) === 1)
  await until('the second batch to be ready', () => compared.mock.results.some(({ value }) => value === true))
  await other.query('commit')
  await importing
  const { rows: writes } = await other.query<{ user_id: string; begun: Date; written: Date }>('select * from writes')
  const [first, second] = ['b1', 'b2'].map((user) => writes.find(({ user_id }) => user_id === user))
  expect(Number(second?.begun)).toBeGreaterThanOrEqual(Number(first?.written))
  expect(await profilesOf(fixture, appId)).toMatchObject({ a1: { n: 7 }, b2: { n: 1 } })
})

test('a batch that is checked before the preceding batch is written waits for it', async () => {
  await other.query('begin')
  await lockUser('a1')
  const { importId, running } = await start()
  await untilOthersWait()
  expect(await progressOf(importId)).toBe(0)
  expect(await profilesOf(fixture, appId)).toMatchObject({ b1: { n: 0 }, b2: { n: 0 } })
  await other.query('commit')
  expect(await running).toMatchObject({ outcome: 'completed' })
  expect(await profilesOf(fixture, appId)).toEqual(allApplied)
})

test('a batch that waits for the preceding one locks none of its users: other writers can change them', async () => {
  await other.query('begin')
  await lockUser('a1')
  const { importId, running } = await start()
  await untilOthersWait()
  await other.query(`select from profiles where app_id = $1 and user_id in ('b1', 'b2') for update nowait`, [appId])
  await other.query('commit')
  expect(await running).toMatchObject({ outcome: 'completed' })
  expect(await resultOf(fixture, appId, importId)).toMatchObject({ view: { rows_total: 6, rows_applied: 6 } })
  expect(await profilesOf(fixture, appId)).toEqual(allApplied)
})

// design.md §4, Exactly once.
test('if the first batch is lost with its connection, no following batch is committed', async () => {
  await other.query('begin')
  await lockUser('a2')
  const { importId, running } = await start()
  await untilOthersWait()
  await other.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'transactionid'`,
  )
  // The first batch's connection is gone, so the import is postponed. The other batches must not be committed.
  expect(await running).toMatchObject({ outcome: 'postponed' })
  expect(await progressOf(importId)).toBe(0)
  expect(await profilesOf(fixture, appId)).toMatchObject({ b1: { n: 0 }, b2: { n: 0 }, c1: { n: 0 } })
  await other.query('commit')
})

test('if the first batch has to be written again, the batches that waited for it are written again after it', async () => {
  const app = await openApp(fixture, [...users, 'z'])
  await importFile(fixture, app, rowsOf([['z', 0]]))
  const update = await insertProfile(app, 'a1')
  const { importId, running } = await start(app)
  await untilOthersWait()
  // The first batch finds a profile that did not exist at its lookup, so it rolls back and starts again.
  await update.commit()
  expect(await running).toMatchObject({ outcome: 'completed' })
  expect(await resultOf(fixture, app, importId)).toMatchObject({ view: { rows_total: 6, rows_applied: 6 } })
  expect(await profilesOf(fixture, app)).toEqual({ ...allApplied, a1: { m: '1', n: 1 }, z: { n: 0 } })
})

test('if a batch has to be written again, the following batches are still written once', async () => {
  const { begun, committed } = await importWithConflicts(30, [0])
  expect(committed).toHaveLength(30)
  expect(begun).toBe(31)
})

test('after a conflict, some batches use the insert that tolerates existing profiles; after the next, twice as many', async () => {
  const [firstConflict, secondConflict, batches] = [0, 25, 70]
  const { committed } = await importWithConflicts(batches, [firstConflict, secondConflict])
  expect(committed).toHaveLength(batches)
  const between = committed.slice(firstConflict, secondConflict)
  const afterwards = committed.slice(secondConflict)
  // Each batch with a conflict is written by `insert` the second time.
  for (const part of [between, afterwards]) {
    expect(part[0]).toBe('insert')
    expect(part.at(-1), 'the cheaper statement is used again').toBe('copy')
  }
  const tolerant = [between, afterwards].map((part) => part.filter((command) => command === 'insert').length - 1)
  expect(tolerant[0]).toBeGreaterThan(0)
  expect(tolerant[1]).toBe(2 * (tolerant[0] ?? 0))
})

test('updates of the same users at the same time cause no error, and both writers’ values hold', async () => {
  const update = joinedProfileUpdates(fixture.database.db, 10)
  const values = Array.from({ length: 300 }, (_, index): [string, number] => [users[index % 6] ?? '', index])
  let isOver = false
  const updating = Promise.all(
    users.map(async (user) => {
      for (let count = 0; !isOver; count++) await update(appId, user, [{ key: 'm', type: 'int', value: count }])
    }),
  )
  const { view } = await importFile(fixture, appId, rowsOf(values)).finally(() => {
    isOver = true
  })
  await updating
  expect(view).toMatchObject({ state: 'completed', rows_applied: 300 })
  const profiles = Object.values(await profilesOf(fixture, appId))
  expect(profiles.map(({ n }) => n)).toEqual(users.map((_, index) => 294 + index))
  expect(profiles.every(({ m }) => typeof m === 'number')).toBe(true)
})
