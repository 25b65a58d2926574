import { beginUpload } from '@sluice/bucket-uploads'
import { connect, sql } from '@sluice/database'
import { forgetDeletedUsers } from '@sluice/deletions'
import { cancelImport, removeOldFiles, reportCancelled, runImport } from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { claim, openApp, profilesOf, queueFile } from '../imports/import-fixture.ts'
import { openDeletionFixture, request, runAt, schedule } from './deletion-fixture.ts'

// Hashes of deleted IDs are kept for as long as earlier data may be imported. They cost other imports nothing.
const users = Array.from({ length: 30 }, (_, index) => `u${index}`)
const csv = `user_id,n\n${users.map((user) => `${user},1\n`).join('')}`

const fixture = openBeforeEach(openDeletionFixture)
let appId: number
beforeEach(async () => {
  appId = await openApp(fixture, ['alice', ...users])
})

const deleteUser = async (userId: string) => {
  await request(fixture, appId, [userId], schedule.accepted)
  await runAt(fixture, schedule.completion)
}

const hashes = async (): Promise<string[]> => {
  const rows = await fixture.database.db.selectFrom('recently_deleted_users').select('user_hash').execute()
  return rows.map(({ user_hash: hash }) => hash.toString('hex'))
}

/** Runs an import in batches of ten rows. Returns how many times it waited for an answer of Postgres. */
async function countRoundTrips(importId: string, over = fixture.database.db): Promise<number> {
  let roundTrips = 0
  const db = over.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      roundTrips += 1
      return result
    },
  })
  // Renewals of the lease, and reading what all profiles hold, would count as well.
  const settings = { ...fixture.context.settings, BATCH_ROWS: 10, IMPORT_LEASE: 600_000, KNOWN_ROWS_MEMORY: 0 }
  const claimed = await claim(fixture, appId, importId)
  expect(await runImport({ ...fixture.context, db, settings }, claimed, new AbortController().signal)).toMatchObject({
    outcome: 'completed',
  })
  return roundTrips
}

/**
 * Replaces the table of hashes by a new one without autovacuum, whose counters are 0. Connections that earlier tests
 * used may add to the counters of the old table at any time.
 */
async function replaceHashes(): Promise<void> {
  await fixture.database.db.connection().execute(async (connection) => {
    await sql`
      alter table recently_deleted_users rename to earlier_hashes;
      create table recently_deleted_users (like earlier_hashes including all) with (autovacuum_enabled = off)
    `.execute(connection)
    // Building its indexes counts as scans.
    await sql`select pg_stat_force_next_flush()`.execute(connection)
    await sql`select pg_stat_reset()`.execute(connection)
  })
}

describe('a batch', () => {
  test('waits for no additional answer of Postgres unless a deletion completed since its data was sent', async () => {
    // From the second import on, every profile exists and holds the values.
    await countRoundTrips(await queueFile(fixture, appId, csv))
    const without = await countRoundTrips(await queueFile(fixture, appId, csv))
    const earlier = await queueFile(fixture, appId, csv)
    await deleteUser('alice')
    const later = await queueFile(fixture, appId, csv)
    const batches = users.length / 10
    expect(await countRoundTrips(earlier)).toBe(without + batches)
    expect(await countRoundTrips(later)).toBe(without)
  })

  test('finds deleted IDs by index, whatever Postgres knew of the table when it planned the statements', async () => {
    const { db } = fixture.database
    await replaceHashes()
    await sql`vacuum recently_deleted_users`.execute(db)
    // Closing this separate connection makes Postgres add all its scans to `pg_stat_user_tables`, which is read below.
    const connection = connect(fixture.database.url, { connections: 4 })
    await countRoundTrips(await queueFile(fixture, appId, csv), connection.db)
    await sql`
      insert into recently_deleted_users (app_id, user_hash, deleted_at)
      select ${appId}::integer, sha256(convert_to(n::text, 'UTF8')), now() - interval '1 day' from generate_series(1, 50000) n
    `.execute(db)
    const earlier = await queueFile(fixture, appId, csv)
    await deleteUser('alice')
    await countRoundTrips(earlier, connection.db)
    await countRoundTrips(await queueFile(fixture, appId, csv), connection.db)
    await connection.close()
    const { scans, fetched } = await until('the counters of the connection', async () => {
      const { rows } = await sql<{ lookups: number; scans: number; fetched: number }>`
        select idx_scan::integer + seq_scan::integer as lookups, seq_scan::integer as scans, idx_tup_fetch::integer as fetched
        from pg_stat_user_tables where relname = 'recently_deleted_users'
      `.execute(db)
      return rows[0] !== undefined && rows[0].lookups >= 9 && rows[0]
    })
    expect(scans).toBe(0)
    expect(fetched).toBeLessThan(100)
  })
})

describe('the hashes of deleted IDs', () => {
  /** Lets `days` days pass. */
  const passDays = async (days: number) => {
    const { db } = fixture.database
    const time = sql`make_interval(days => ${days})`
    await sql`update recently_deleted_users set deleted_at = deleted_at - ${time}`.execute(db)
    await sql`update imports set finished_at = finished_at - ${time}`.execute(db)
  }

  test('are kept for 30 days, and for as long as the app has an upload or a file that was sent before', async () => {
    const { db } = fixture.database
    const waiting = await queueFile(fixture, appId, 'user_id,n\nalice,1\n')
    const upload = await beginUpload(fixture.context, appId, 'people.csv')
    await deleteUser('alice')
    const other = await openApp(fixture, ['carl'])
    await request(fixture, other, ['carl'], schedule.accepted)
    await runAt(fixture, schedule.completion)
    expect(await hashes()).toHaveLength(2)
    await passDays(29)
    expect(await forgetDeletedUsers({ db })).toBe(0)
    await passDays(2)
    expect(await forgetDeletedUsers({ db })).toBe(1)
    await registerUsers(db, appId, ['alice'])
    await runImport(fixture.context, await claim(fixture, appId, waiting), new AbortController().signal)
    expect((await profilesOf(fixture, appId)).alice).toEqual({})
    await db.deleteFrom('bucket_uploads').where('import_id', '=', upload.importId).execute()
    expect(await forgetDeletedUsers({ db })).toBe(0)
    expect(await removeOldFiles(fixture.context)).toBe(1)
    expect(await forgetDeletedUsers({ db })).toBe(1)
    expect(await hashes()).toEqual([])
  })

  test('are kept while a cancelled import may be retried: its rows stay deleted, and so does its name', async () => {
    const { db } = fixture.database
    const cancelled = await queueFile(fixture, appId, 'user_id,n\nalice,1\n')
    await db.updateTable('imports').set({ file_name: 'alice.csv' }).execute()
    await deleteUser('alice')
    await cancelImport(db, { appId, importId: cancelled })
    await reportCancelled(fixture.context)
    await passDays(31)
    expect(await forgetDeletedUsers({ db })).toBe(0)
    expect(await removeOldFiles(fixture.context)).toBe(1)
    expect(await db.selectFrom('imports').select('file_name').execute()).toEqual([{ file_name: null }])
    expect(await forgetDeletedUsers({ db })).toBe(1)
  })

  test('differ between apps', async () => {
    const other = await openApp(fixture, ['alice'])
    await deleteUser('alice')
    await request(fixture, other, ['alice'], schedule.accepted)
    await runAt(fixture, schedule.completion)
    expect(new Set(await hashes()).size).toBe(2)
  })
})
