import { sql } from '@sluice/database'
import { runDeletions } from '@sluice/deletions'
import { claimExport, dueExports, followExportLink, removeOldExports, requestExport, runExport } from '@sluice/exports'
import { joinedProfileUpdates, removeValue } from '@sluice/profiles'
import { beforeEach, describe, expect, test } from 'vitest'
import { openDeletionFixture, request as requestDeletion, runAt, schedule } from '../deletions/deletion-fixture.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { importFile, openApp } from '../imports/import-fixture.ts'
import { exportApp, request, runNext, show, storedFile } from './export-fixture.ts'

const users = ['alice', 'bob', 'zoë', 'a,b', ' "x" ']
const file = [
  'user_id,name,age,score,born',
  'alice,"Al, ""A""",34,5,2026-01-31T10:00:00+01:00',
  'bob,,7,1e2,',
  '"a,b","two\nlines",,0.25,2026-01-31',
  '',
].join('\n')

const fixture = openBeforeAll(openDeletionFixture)
let appId: number
beforeEach(async () => {
  appId = await openApp(fixture, users)
  await importFile(fixture, appId, 'user_id,name,age,score,born\nalice,x,1,1.5,2026-01-01\n')
  await importFile(fixture, appId, file.replace('1e2', '100.0'))
})

const linkOf = async (exportId: string) => (await show(fixture, appId, exportId)).file_url ?? ''
const follow = (url: string) =>
  followExportLink(fixture.database.db, fixture.storage, url.replace('http://api.test/export_files/', ''))

// second-day.md §3, Export file.
describe('the file of an export', () => {
  test('has every registered user by ID with all keys by name, in the forms that an import reads', async () => {
    expect((await exportApp(fixture, appId)).split('\n')).toEqual([
      'user_id,age,born,name,score',
      '" ""x"" ",,,,',
      '"a,b",,2026-01-31T00:00:00.000Z,"two',
      'lines",0.25',
      'alice,34,2026-01-31T09:00:00.000Z,"Al, ""A""",5.0',
      'bob,7,,,100.0',
      'zoë,,,,',
      '',
    ])
  })

  test('has the requested keys in their order', async () => {
    expect((await exportApp(fixture, appId, ['score', 'age'])).split('\n').slice(0, 4)).toEqual([
      'user_id,score,age',
      '" ""x"" ",,',
      '"a,b",0.25,',
      'alice,5.0,34',
    ])
  })

  test('has an empty cell for an empty string', async () => {
    await joinedProfileUpdates(fixture.database.db, 500)(appId, 'zoë', [{ key: 'name', type: 'string', value: '' }])
    expect(await exportApp(fixture, appId, ['name'])).toMatch(/^zoë,$/m)
  })

  test('has an empty cell for a value that was removed, for one user or by a clear marker', async () => {
    await removeValue(fixture.database.db, appId, 'alice', 'name')
    await importFile(fixture, appId, 'user_id,age,name\nbob,#N/A,Bob\n', { clearMarker: '#N/A' })
    expect(await exportApp(fixture, appId, ['age', 'name'])).toMatch(/^alice,34,\nbob,,Bob$/m)
  })

  test('of an app without users has only the header', async () => {
    expect(await exportApp(fixture, await openApp(fixture))).toBe('user_id\n')
  })

  // second-day.md §3, Exports.
  test('is counted and linked, and the link downloads the file under its name', async () => {
    const exportId = await request(fixture, appId)
    expect(await show(fixture, appId, exportId)).toMatchObject({
      state: 'queued',
      rows: 0,
      bytes: 0,
      file_url: null,
      finished_at: null,
    })
    await runNext(fixture)
    const view = await show(fixture, appId, exportId)
    const bytes = (await storedFile(fixture, appId, exportId)).length
    expect(view).toMatchObject({ state: 'completed', rows: users.length, bytes, error: null })
    const followed = await follow(view.file_url ?? '')
    const answer = await fetch((followed as { url: string }).url)
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="export-${exportId}.csv.gz"`)
    expect((await answer.bytes()).length).toBe(bytes)
    expect(await follow(`${view.file_url}x`)).toBe('unknown')
    expect(await follow((view.file_url ?? '').replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))).toBe('unknown')
  })

  test('is removed after its retention time, and its link has expired', async () => {
    const exportId = await request(fixture, appId)
    await runNext(fixture)
    const link = await linkOf(exportId)
    await removeOldExports(fixture.context)
    expect(await follow(link)).toHaveProperty('url')
    await sql`update exports set finished_at = now() - interval '8 days' where export_id = ${exportId}`.execute(
      fixture.database.db,
    )
    await removeOldExports(fixture.context)
    expect(await follow(link)).toBe('expired')
    expect(await fixture.storage.stat(`apps/${appId}/exports/${exportId}/1.csv.gz`)).toBeUndefined()
    expect(await show(fixture, appId, exportId)).toMatchObject({ state: 'completed', file_url: null })
  })
})

// second-day.md §3, Export file.
describe('an import of an export', () => {
  test('changes nothing', async () => {
    const exported = await exportApp(fixture, appId)
    expect((await importFile(fixture, appId, exported)).view).toMatchObject({
      state: 'completed',
      rows_total: users.length,
      rows_failed: 0,
      rows_changed: 0,
    })
  })
})

// second-day.md §3, Exports.
describe('the exports of an app', () => {
  test('run one at a time, in the order of their requests; other apps do not wait', async () => {
    const [first, second] = [await request(fixture, appId), await request(fixture, appId)]
    const other = await openApp(fixture)
    const ofOther = await request(fixture, other)
    const claims = [await claimExport(fixture.context), await claimExport(fixture.context)]
    expect(claims.map((claim) => claim?.exportId)).toEqual([first, ofOther])
    expect(await claimExport(fixture.context)).toBeUndefined()
    expect(await dueExports(fixture.database.db)).toEqual([])
    for (const claim of claims) if (claim) await runExport(fixture.context, claim, new AbortController().signal)
    expect((await claimExport(fixture.context))?.exportId).toBe(second)
    await sql`delete from exports where export_id = ${second}`.execute(fixture.database.db)
  })

  test('refuse keys that are not registered', async () => {
    expect(await requestExport(fixture.database.db, appId, ['age', 'nmae'])).toEqual({ unregistered: ['nmae'] })
  })
})

describe('an export whose try fails', () => {
  const broken = () => ({
    ...fixture.context,
    storage: { ...fixture.storage, writeStream: async () => Promise.reject(new Error('storage is away')) },
  })

  test('is tried again later, and fails after five tries', async () => {
    const exportId = await request(fixture, appId)
    for (let round = 1; round <= 5; round++) {
      const claim = await claimExport(fixture.context)
      expect(claim).toMatchObject({ exportId, tries: round })
      if (claim)
        expect(await runExport(broken(), claim, new AbortController().signal)).toBe(round < 5 ? 'released' : 'failed')
      expect(await claimExport(fixture.context)).toBeUndefined()
      await sql`update exports set retry_at = now() where export_id = ${exportId}`.execute(fixture.database.db)
    }
    expect(await show(fixture, appId, exportId)).toMatchObject({
      state: 'failed',
      error: 'could not be processed in 5 attempts',
      file_url: null,
    })
  })

  test('is released by a shutdown without losing a try', async () => {
    const exportId = await request(fixture, appId)
    const shutdown = new AbortController()
    const storage = {
      ...fixture.storage,
      writeStream: async () => {
        shutdown.abort()
        throw new Error('aborted')
      },
    }
    const claim = await claimExport(fixture.context)
    if (claim) expect(await runExport({ ...fixture.context, storage }, claim, shutdown.signal)).toBe('released')
    expect(await claimExport(fixture.context)).toMatchObject({ exportId, tries: 1, attempt: 2 })
    await sql`delete from exports where export_id = ${exportId}`.execute(fixture.database.db)
  })

  test('is not completed by a worker that lost its claim, and leaves no file', async () => {
    const exportId = await request(fixture, appId)
    const late = await claimExport(fixture.context)
    await sql`update exports set lease_until = now() - interval '1 s' where export_id = ${exportId}`.execute(
      fixture.database.db,
    )
    await runNext(fixture)
    const view = await show(fixture, appId, exportId)
    if (late) expect(await runExport(fixture.context, late, new AbortController().signal)).toBe('lost')
    expect(await show(fixture, appId, exportId)).toEqual(view)
    expect(await fixture.storage.stat(`apps/${appId}/exports/${exportId}/1.csv.gz`)).toBeUndefined()
    expect(await fixture.storage.stat(`apps/${appId}/exports/${exportId}/2.csv.gz`)).toBeDefined()
  })
})

test('an export whose worker dies in each try fails, after longer and longer pauses, and the next one runs', async () => {
  const exportId = await request(fixture, appId)
  const { db } = fixture.database
  const pass = (seconds: number) => {
    const lease_until = sql<Date>`lease_until - make_interval(secs => ${seconds})`
    return db.updateTable('exports').set({ lease_until }).where('export_id', '=', exportId).execute()
  }
  // The last two workers die before they can fail the export.
  for (const pause of [0, 5, 30, 120, 600, 600, 600]) {
    expect(await claimExport(fixture.context)).toMatchObject({ exportId })
    await pass(14 + pause)
    expect(await claimExport(fixture.context), `${pause} s`).toBeUndefined()
    await pass(2)
  }
  expect(await runNext(fixture)).toBe('failed')
  expect(await show(fixture, appId, exportId)).toMatchObject({ state: 'failed', error: expect.stringContaining('5') })
  expect(await exportApp(fixture, appId)).toContain('alice')
})

// second-day.md §3, Exports.
describe('when the deletion of a user completes', () => {
  test('earlier exports are removed, and their links answer that they are gone', async () => {
    const exportId = await request(fixture, appId)
    await runNext(fixture)
    const link = await linkOf(exportId)
    await requestDeletion(fixture, appId, ['alice'], schedule.accepted)
    await runAt(fixture, schedule.beforeCompletion)
    expect(await follow(link)).toHaveProperty('url')
    await runAt(fixture, schedule.completion)
    expect(await follow(link)).toBe('expired')
    expect(await linkOf(exportId)).toBe('')
    expect(await fixture.storage.stat(`apps/${appId}/exports/${exportId}/1.csv.gz`)).toBeUndefined()
    expect(await exportApp(fixture, appId)).not.toContain('alice')
  })

  test('exports from after the users were deleted stay, however often the completion fails and is repeated', async () => {
    await requestDeletion(fixture, appId, ['alice'], schedule.accepted)
    const removeAll = () => Promise.reject(new Error('as expected'))
    const failing = { ...fixture.deletions, storage: { ...fixture.storage, removeAll } }
    await expect(runDeletions(failing, new Date(schedule.completion))).rejects.toThrow('not complete')
    const exportId = await request(fixture, appId)
    const claim = await claimExport(fixture.context)
    const storage = {
      ...fixture.storage,
      writeStream: async (...args: Parameters<typeof fixture.storage.writeStream>) => {
        await expect(runDeletions(failing, new Date(schedule.completion))).rejects.toThrow('not complete')
        await fixture.storage.writeStream(...args)
      },
    }
    const signal = new AbortController().signal
    expect(claim && (await runExport({ ...fixture.context, storage }, claim, signal))).toBe('completed')
    await runAt(fixture, schedule.completion)
    expect(await follow(await linkOf(exportId))).toHaveProperty('url')
  })

  test('a running export begins again, and its file does not name the user', async () => {
    const exportId = await request(fixture, appId)
    const claim = await claimExport(fixture.context)
    await requestDeletion(fixture, appId, ['alice'], schedule.accepted)
    const storage = {
      ...fixture.storage,
      // The snapshot of this attempt precedes the deletion.
      writeStream: async (...args: Parameters<typeof fixture.storage.writeStream>) => {
        await runAt(fixture, schedule.completion)
        await fixture.storage.writeStream(...args)
      },
    }
    if (claim)
      expect(await runExport({ ...fixture.context, storage }, claim, new AbortController().signal)).toBe('lost')
    expect(await fixture.storage.stat(`apps/${appId}/exports/${exportId}/1.csv.gz`)).toBeUndefined()
    await runNext(fixture)
    expect(await show(fixture, appId, exportId)).toMatchObject({ state: 'completed', rows: users.length - 1 })
  })
})
