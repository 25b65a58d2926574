import { connect, sql } from '@sluice/database'
import { forgetDeletedUsers } from '@sluice/deletions'
import { beginUpload } from '@sluice/dropbox'
import { runImport } from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import { beforeEach, describe, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { claim, openApp, profilesOf, queueFile } from '../imports/workshop.ts'
import { march, openYard, request, runAt, type Yard } from './yard.ts'

// Which IDs were deleted is kept, as hashes, for as long as earlier data may be imported, and costs imports nothing otherwise.
const users = Array.from({ length: 30 }, (_, index) => `u${index}`)
const csv = `user_id,n\n${users.map((user) => `${user},1\n`).join('')}`

let yard: Yard
let appId: number
beforeEach(async () => {
  yard = await openYard()
  appId = await openApp(yard, ['alice', ...users])
  return () => yard.close()
})

const deleteUser = async (userId: string) => {
  await request(yard, appId, [userId], march.accepted)
  await runAt(yard, march.completion)
}

const hashes = async (): Promise<string[]> => {
  const rows = await yard.database.db.selectFrom('recently_deleted_users').select('user_hash').execute()
  return rows.map(({ user_hash: hash }) => hash.toString('hex'))
}

/** Runs an import in batches of ten rows. Returns how many times it waited for an answer of Postgres. */
async function countRoundTrips(importId: string, over = yard.database.db): Promise<number> {
  let roundTrips = 0
  const db = over.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      roundTrips += 1
      return result
    },
  })
  // Renewals of the lease would count as well.
  const settings = { ...yard.context.settings, BATCH_ROWS: 10, IMPORT_LEASE: 600_000 }
  const held = await claim(yard, appId, importId)
  expect(await runImport({ ...yard.context, db, settings }, held, new AbortController().signal)).toMatchObject({
    outcome: 'completed',
  })
  return roundTrips
}

describe('a batch', () => {
  test('waits for no further answer of Postgres unless a deletion completed since its data was sent', async () => {
    // From the second time on every profile is there, and holds the values.
    await countRoundTrips(await queueFile(yard, appId, csv))
    const without = await countRoundTrips(await queueFile(yard, appId, csv))
    const earlier = await queueFile(yard, appId, csv)
    await deleteUser('alice')
    const later = await queueFile(yard, appId, csv)
    const batches = users.length / 10
    expect(await countRoundTrips(earlier)).toBe(without + batches)
    expect(await countRoundTrips(later)).toBe(without)
  })

  test('finds the deleted by index, whatever Postgres knew of the table when it planned the statements', async () => {
    const { db } = yard.database
    await sql`alter table recently_deleted_users set (autovacuum_enabled = off)`.execute(db)
    await sql`vacuum recently_deleted_users`.execute(db)
    // Of its own, so that all of its statements are counted once it is closed.
    const connection = connect(yard.database.url, { connections: 4 })
    await countRoundTrips(await queueFile(yard, appId, csv), connection.db)
    await sql`
      insert into recently_deleted_users (app_id, user_hash, deleted_at)
      select ${appId}::integer, sha256(convert_to(n::text, 'UTF8')), now() - interval '1 day' from generate_series(1, 50000) n
    `.execute(db)
    const earlier = await queueFile(yard, appId, csv)
    await deleteUser('alice')
    await countRoundTrips(earlier, connection.db)
    await countRoundTrips(await queueFile(yard, appId, csv), connection.db)
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
  /** Lets so many days pass. */
  const passDays = async (days: number) => {
    const { db } = yard.database
    const time = sql`make_interval(days => ${days})`
    await sql`update recently_deleted_users set deleted_at = deleted_at - ${time}`.execute(db)
    await sql`update imports set requested_at = requested_at - ${time}`.execute(db)
    await sql`update dropbox_uploads set sent_at = sent_at - ${time}`.execute(db)
  }

  test('are kept for 30 days, and for as long as an import or an upload is unfinished that was sent before', async () => {
    const { db } = yard.database
    const waiting = await queueFile(yard, appId, 'user_id,n\nalice,1\n')
    const upload = await beginUpload(yard.context, appId, 'people.csv')
    await deleteUser('alice')
    const other = await openApp(yard, ['carl'])
    await request(yard, other, ['carl'], march.accepted)
    await runAt(yard, march.completion)
    expect(await hashes()).toHaveLength(2)
    await passDays(29)
    expect(await forgetDeletedUsers({ db })).toBe(0)
    await passDays(2)
    expect(await forgetDeletedUsers({ db })).toBe(1)
    await registerUsers(db, appId, ['alice'])
    await runImport(yard.context, await claim(yard, appId, waiting), new AbortController().signal)
    expect((await profilesOf(yard, appId)).alice).toEqual({})
    expect(await forgetDeletedUsers({ db })).toBe(0)
    await db.deleteFrom('dropbox_uploads').where('import_id', '=', upload.importId).execute()
    expect(await forgetDeletedUsers({ db })).toBe(1)
    expect(await hashes()).toEqual([])
  })

  test('are other ones in each app', async () => {
    const other = await openApp(yard, ['alice'])
    await deleteUser('alice')
    await request(yard, other, ['alice'], march.accepted)
    await runAt(yard, march.completion)
    expect(new Set(await hashes()).size).toBe(2)
  })
})
