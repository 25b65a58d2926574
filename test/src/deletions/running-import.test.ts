import { advisoryLocks, sql } from '@sluice/database'
import { cancelImport, errorRows, type ImportContext, reportCancelled, runImport } from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { errorChunkOf } from '../imports/error-chunk.ts'
import { changeImport } from '../imports/forced-states.ts'
import { claim, importFile, openApp, profilesOf, queueFile, resultOf } from '../imports/import-fixture.ts'
import { slowReads } from '../imports/slow-storage.ts'
import { openDeletionFixture, request, runAt, schedule } from './deletion-fixture.ts'

// A deletion completes while an import runs, between two of its batches. From then on no batch applies or reports the
// deleted users, and the error rows that earlier batches kept are gone.
const others = Array.from({ length: 12 }, (_, index) => `u${index}`)

const fixture = openBeforeEach(openDeletionFixture)
let appId: number
beforeEach(async () => {
  appId = await openApp(fixture, ['alice', ...others])
  // The key is registered, and every user has a profile that can be locked.
  await importFile(fixture, appId, `user_id,n\n${['alice', ...others].map((user) => `${user},0\n`).join('')}`)
})

/** Batches of two rows. */
const before = [
  ['alice,1', 'alice,none'],
  ['u0,1', 'ghost,1'],
  ...others.slice(1).map((user) => [`${user},1`, `${user},2`]),
]
const after = [
  ['u0,3', 'ghost,5'],
  ['alice,2', 'alice,none'],
  ['ghost,2', 'alice,3,4'],
]
const linesOf = (batches: string[][]) => batches.flat().map((row) => `${row}\n`)
const beginning = `user_id,n\n${linesOf(before).join('')}`
const file = beginning + linesOf(after).join('')
const total = (before.length + after.length) * 2
const header = 'SERVICE_ERRORS,user_id,n\n'
const unregistered = (row: string) => `user_id is unregistered user,${row}\n`

const small = (changes: Partial<ImportContext> = {}): ImportContext => {
  return { ...fixture.context, ...changes, settings: { ...fixture.context.settings, BATCH_ROWS: 2 } }
}

const deleteAlice = async () => {
  await request(fixture, appId, ['alice'], schedule.accepted)
  await runAt(fixture, schedule.completion)
}

/** Runs the import. Runs `between` after the batches of the file's beginning and before the following batches. */
async function runWith(importId: string, between: () => Promise<unknown>): ReturnType<typeof runImport> {
  let reads = 0
  const storage = slowReads(fixture.storage, beginning.length, async (at) => {
    if (at === 0) reads += 1
    // The first read only inspects the header and infers types.
    if (at === 0 || reads === 1) return
    await until('the batches of the beginning', async () => {
      return (await resultOf(fixture, appId, importId)).view.rows_total === before.length * 2
    })
    await between()
  })
  return await runImport(small({ storage }), await claim(fixture, appId, importId), new AbortController().signal)
}

const errorFileOf = async (importId: string) => (await resultOf(fixture, appId, importId)).errorFile?.toString()

/** Returns the rows that are kept for an error file. */
async function rowsKept(importId: string): Promise<string[]> {
  const kept = await errorRows({ db: fixture.database.db, storage: fixture.storage }, { appId, importId }, 100)
  return kept.rows.map(({ values }) => values.join(','))
}

// service.md, States and transitions.
test.each([true, false])(
  'an import neither applies nor reports a user who is deleted meanwhile (registered again: %s)',
  async (again) => {
    const importId = await queueFile(fixture, appId, file)
    const outcome = await runWith(importId, async () => {
      expect(await rowsKept(importId)).toEqual(['alice,none', 'ghost,1'])
      await deleteAlice()
      if (again) await registerUsers(fixture.database.db, appId, ['alice'])
      expect(await rowsKept(importId)).toEqual([])
    })
    expect(outcome).toMatchObject({ outcome: 'completed' })
    const profiles = await profilesOf(fixture, appId)
    expect(profiles.alice).toEqual(again ? {} : undefined)
    expect(profiles.u0).toEqual({ n: 3 })
    const { view } = await resultOf(fixture, appId, importId)
    expect(view).toMatchObject({ rows_total: total, rows_applied: total - 4, rows_failed: 4 })
    expect(await errorFileOf(importId)).toBe(header + unregistered('ghost,5') + unregistered('ghost,2'))
  },
)

test('an import applies no row of a user whose deletion completes while several of its batches are in flight', async () => {
  const holder = new pg.Client({ connectionString: fixture.database.url })
  holder.on('error', () => {}) // The database closes first if the test fails.
  await holder.connect()
  await holder.query('begin')
  await holder.query(`select from profiles where app_id = $1 and user_id = 'u3' for update`, [appId])
  const importId = await queueFile(fixture, appId, file)
  const running = runImport(small(), await claim(fixture, appId, importId), new AbortController().signal)
  await until('a batch to wait', async () => (await lockWaits(fixture.database.db, 'transactionid')).length === 1)
  const deleting = deleteAlice()
  await until('the deletion to wait for the batches', async () => {
    // A batch that waits for the preceding one has the same statement, with another lock.
    const { rows } = await sql`
      select from pg_locks
      where locktype = 'advisory' and classid = ${advisoryLocks.usersOfApp} and objid = ${appId} and mode = 'ExclusiveLock' and not granted
    `.execute(fixture.database.db)
    return rows.length === 1
  })
  await holder.end()
  await deleting
  expect(await running).toMatchObject({ outcome: 'completed' })
  expect(await profilesOf(fixture, appId)).not.toHaveProperty('alice')
  const { view } = await resultOf(fixture, appId, importId)
  expect(view).toMatchObject({ rows_total: total, rows_applied: total - 4, rows_failed: 4 })
  expect((await errorFileOf(importId)) ?? '').not.toContain('alice')
})

test('another worker that continues the import neither applies nor reports the user', async () => {
  const importId = await queueFile(fixture, appId, file)
  const shutdown = new AbortController()
  const interrupted = { ...small(), onBatch: () => shutdown.abort() }
  const outcome = await runImport(interrupted, await claim(fixture, appId, importId), shutdown.signal)
  expect(outcome).toEqual({ outcome: 'interrupted' })
  expect(await rowsKept(importId)).toContain('alice,none')
  await deleteAlice()
  await registerUsers(fixture.database.db, appId, ['alice'])
  await runImport(small(), await claim(fixture, appId, importId), new AbortController().signal)
  expect((await profilesOf(fixture, appId)).alice).toEqual({})
  expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'completed', rows_total: total })
  expect(await errorFileOf(importId)).not.toContain('alice')
})

test('an import keeps the error rows of other users when the deletion is repeated', async () => {
  const importId = await queueFile(fixture, appId, file)
  const storage = { ...fixture.storage, removeAll: () => Promise.reject(new Error('storage is away')) }
  await runWith(importId, async () => {
    await request(fixture, appId, ['alice'], schedule.accepted)
    await expect(runAt(fixture, schedule.completion, { storage })).rejects.toThrow('not complete')
    const { chunk } = errorChunkOf({ appId, importId, position: 0, columns: ['user_id', 'n'] }, ['u1', 'x'])
    await fixture.database.db.insertInto('import_chunks').values(chunk).execute()
    await runAt(fixture, schedule.completion)
  })
  expect(await errorFileOf(importId)).toBe(
    `${header}${unregistered('u1,x')}${unregistered('ghost,5')}${unregistered('ghost,2')}`,
  )
})

test('an import neither keeps nor links an error file that was being stored when the deletion completed', async () => {
  const importId = await queueFile(fixture, appId, 'user_id,n\nalice,none\nghost,1\n')
  let deletions = 0
  const storage: ImportContext['storage'] = {
    ...fixture.storage,
    async writeStream(...args) {
      await fixture.storage.writeStream(...args)
      if (deletions++ === 0) await deleteAlice()
    },
  }
  const running = runImport(small({ storage }), await claim(fixture, appId, importId), new AbortController().signal)
  expect(await running).toMatchObject({ outcome: 'completed' })
  expect(deletions).toBe(1)
  expect(await errorFileOf(importId)).toBeUndefined()
  expect(await fixture.storage.stat(`apps/${appId}/imports/${importId}/errors-1.csv`)).toBeUndefined()
  const { text } = await fixture.database.db
    .selectFrom('mails')
    .select('text')
    .where('event', '=', `import:${importId}`)
    .executeTakeFirstOrThrow()
  expect(text).not.toContain('error_files')
})

const kept = [
  ['a deletion', () => deleteAlice()] as const,
  [
    'a full disk',
    async (importId: string) => {
      const { db } = fixture.database
      await changeImport(db, importId, { error_file_ends_before_row: 1 })
      await db.deleteFrom('import_chunks').where('import_id', '=', importId).execute()
    },
  ] as const,
]

test.each(kept)(
  'an import needs no further try if %s removes the rows of its error file while the file is sent',
  async (_, remove) => {
    const importId = await queueFile(fixture, appId, 'user_id,n\nalice,none\nghost,1\n')
    let removals = 0
    const storage: ImportContext['storage'] = {
      ...fixture.storage,
      async writeStream(...args) {
        if (removals++ === 0) await remove(importId)
        await fixture.storage.writeStream(...args)
      },
    }
    const running = runImport(small({ storage }), await claim(fixture, appId, importId), new AbortController().signal)
    expect(await running).toMatchObject({ outcome: 'completed' })
    expect(await errorFileOf(importId)).toBeUndefined()
    expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ rows_failed: 2 })
  },
)

test('a cancelled import reports no row of a user who was deleted before the report', async () => {
  const importId = await queueFile(fixture, appId, file)
  const running = runWith(importId, () => cancelImport(fixture.database.db, { appId, importId }))
  expect(await running).toEqual({ outcome: 'cancelled' })
  expect(await rowsKept(importId)).toContain('alice,none')
  await deleteAlice()
  await reportCancelled(fixture.context)
  expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'cancelled', rows_failed: 2 })
  expect(await errorFileOf(importId)).toBeUndefined()
})
