import { beginUpload, beginUploadInParts, finishUpload, removeAbandonedUploads } from '@sluice/bucket-uploads'
import { sql } from '@sluice/database'
import {
  cancelImport,
  noticeUploads,
  receiveV2File,
  removeOldFiles,
  reportCancelled,
  requestImport,
  runImport,
  sweepFiles,
  uploadKey,
} from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { findOrphans } from '../environment/orphans.ts'
import { claim, importFile, queueFile } from '../imports/import-fixture.ts'
import { type BucketFixture, mailEvents, request, runAt, schedule } from './deletion-fixture.ts'
import { csv, openLateWriters } from './late-writers-fixture.ts'

// Every file that is stored for an import is removed in the end, however late it is written: with the import's row,
// with the row of its upload, or by a sweep. A deletion reaches all of them.
// late-writers.long.test.ts has further cases.
const late = openBeforeEach(openLateWriters)
let fixture: BucketFixture
let appId: number
beforeEach(async () => {
  ;({ fixture, appId } = late)
})

const bytes = Buffer.from(csv)
const md5 = '2+2ZLdO38zP1EU2PhOYxMw=='

/**
 * Makes a first request of v3. Returns the import's ID, and a function that uploads the file like the client and
 * returns the status.
 */
async function openV3(): Promise<{ importId: string; put: () => Promise<number> }> {
  const terms = { checksum: md5, byte_size: bytes.length, content_type: 'text/csv' as const, dry_run: false }
  const { importId, descriptor } = await requestImport(fixture.context, appId, terms)
  const { url, headers } = descriptor.direct_upload
  return { importId, put: async () => (await fetch(url, { method: 'PUT', headers, body: csv })).status }
}

describe('a client that repeats its PUT after the files of its import were removed', () => {
  test('leaves an object that a sweep removes once nobody can write it any longer', async () => {
    const { importId, put } = await openV3()
    expect(await put()).toBe(200)
    await noticeUploads(fixture.context)
    await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    await late.deleteAlice()
    expect(await late.stored(importId)).toEqual([])
    expect(await put()).toBe(200)
    expect(await findOrphans(fixture.database.db, fixture.bucket.settings)).toEqual([])
    await late.passHours(24)
    expect(await sweepFiles(fixture.context)).toBe(0)
    await late.passHours(1)
    expect(await sweepFiles(fixture.context)).toBe(1)
    expect(await late.stored(importId)).toEqual([])
    expect(await late.sweepsLeft()).toEqual([])
  })

  test('leaves nothing after the next deletion of a user', async () => {
    const { importId, put } = await openV3()
    await cancelImport(fixture.database.db, { appId, importId })
    await reportCancelled(fixture.context)
    await request(fixture, appId, ['bob'], schedule.accepted)
    await runAt(fixture, schedule.completion)
    expect(await put()).toBe(200)
    await request(fixture, appId, ['alice'], schedule.completion)
    const storage = { ...fixture.storage, removeAll: () => Promise.reject(new Error('storage is away')) }
    await expect(runAt(fixture, '2101-01-01T00:00:00Z', { storage })).rejects.toThrow('not complete')
    expect(await mailEvents(fixture, appId)).toEqual([schedule.mail])
    await runAt(fixture, '2101-01-01T00:00:00Z')
    expect(await late.stored(importId)).toEqual([])
    expect(await mailEvents(fixture, appId)).toHaveLength(2)
    expect(await late.sweepsLeft()).toEqual([importId])
  })
})

describe('a deletion removes', () => {
  test('the file of an import that was cancelled before the file was sent', async () => {
    const { importId, put } = await openV3()
    await cancelImport(fixture.database.db, { appId, importId })
    await reportCancelled(fixture.context)
    expect(await put()).toBe(200)
    await late.deleteAlice()
    expect(await late.stored(importId)).toEqual([])
  })

  test('the file of a v2 upload whose process died', async () => {
    const importId = crypto.randomUUID()
    await fixture.database.db
      .insertInto('imports')
      .values({
        app_id: appId,
        import_id: importId,
        source: 'v2',
        state: 'awaiting_upload',
        object_key: uploadKey(appId, importId),
        content_type: 'text/csv',
        upload_check_at: new Date(),
      })
      .execute()
    await late.write(importId)
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 0, expired: 1 })
    await late.deleteAlice()
    expect(await late.stored(importId)).toEqual([])
    // The process had not died, and continues.
    await late.write(importId)
    expect(await findOrphans(fixture.database.db, fixture.bucket.settings)).toEqual([])
  })

  test('objects of bucket uploads that began more than an hour ago, and no younger ones', async () => {
    const { db } = fixture.database
    const whole = await beginUpload(fixture.maintenance, appId, 'whole.csv')
    await late.write(whole.importId)
    const inParts = await beginUploadInParts(fixture.maintenance, appId, 'parts.csv', {
      contentType: 'text/csv',
      user: {},
    })
    const young = await beginUpload(fixture.maintenance, appId, 'young.csv')
    await late.write(young.importId)
    await sql`
      update bucket_uploads set started_at = started_at - interval '61 minutes', sent_at = sent_at - interval '61 minutes'
      where import_id <> ${young.importId}
    `.execute(db)
    await late.deleteAlice()
    expect(await late.stored(whole.importId)).toEqual([])
    await expect(fixture.bucket.storage.listParts(inParts.objectKey, inParts.storageUploadId ?? '')).rejects.toThrow()
    expect(await late.stored(young.importId)).toHaveLength(1)
    expect(await removeAbandonedUploads(fixture.maintenance)).toBe(0)
    await sql`update bucket_uploads set started_at = started_at - interval '61 minutes'`.execute(db)
    expect(await removeAbandonedUploads(fixture.maintenance)).toBe(1)
    expect(await late.stored(young.importId)).toEqual([])
  })

  test('the file of an import in flight, when the import ends, but no file that was sent later', async () => {
    const inFlight = await queueFile(fixture, appId, csv)
    await late.deleteAlice()
    const later = await queueFile(fixture, appId, csv)
    for (const importId of [inFlight, later]) {
      await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    }
    expect(await removeOldFiles(fixture.context)).toBe(1)
    expect(await late.stored(inFlight)).toEqual([])
    expect(await late.stored(later)).not.toEqual([])
  })
})

describe('a sweep removes', () => {
  /** Expects that the import's files are swept once their time has come. */
  const expectSwept = async (importId: string) => {
    expect(await late.stored(importId)).not.toEqual([])
    expect(await findOrphans(fixture.database.db, fixture.bucket.settings)).toEqual([])
    await late.passHours(25)
    await sweepFiles(fixture.context)
    expect(await late.stored(importId)).toEqual([])
  }

  test('the error file that a worker stores after another worker ended its import and the files were removed', async () => {
    const { view } = await importFile(fixture, appId, csv)
    await late.deleteAlice()
    await late.write(view.import_id, 'errors-1.csv')
    await expectSwept(view.import_id)
  })

  test('the second copy of a repeated upload, if storage does not remove it', async () => {
    const origin = { kind: 'request', signature: 'aa', md5: 'bb' } as const
    const [first, second] = [
      await beginUpload(fixture.maintenance, appId, 'a.csv'),
      await beginUpload(fixture.maintenance, appId, 'a.csv'),
    ]
    for (const { importId } of [first, second]) await late.write(importId)
    await finishUpload(fixture.maintenance, first, origin)
    const storage = { ...fixture.bucket.storage, remove: () => Promise.reject(new Error('no answer')) }
    expect(await finishUpload({ ...fixture.maintenance, storage }, second, origin)).toMatchObject({ isNew: false })
    await expectSwept(second.importId)
    expect(await late.stored(first.importId)).toHaveLength(1)
  })

  test('the file of a refused v2 request that storage stores nevertheless', async () => {
    let key = ''
    const storage = {
      ...fixture.storage,
      writeStream: (to: string) => {
        key = to
        return Promise.reject(new Error('no answer'))
      },
    }
    const context = {
      ...fixture.context,
      storage,
      settings: { ...fixture.context.settings, API_UPLOAD_TIMEOUT: 60_000 },
    }
    const body = { contentType: 'text/csv', byteSize: bytes.length, content: (async function* () {})() } as const
    await expect(receiveV2File(context, appId, body)).rejects.toThrow('no answer')
    const importId = key.split('/')[3] ?? ''
    await late.write(importId)
    await expectSwept(importId)
  })

  test('an object that arrives for an aborted bucket upload', async () => {
    const upload = await beginUpload(fixture.maintenance, appId, 'a.csv')
    await sql`update bucket_uploads set started_at = started_at - interval '3 days'`.execute(fixture.database.db)
    expect(await removeAbandonedUploads(fixture.maintenance)).toBe(1)
    await late.write(upload.importId)
    await expectSwept(upload.importId)
  })

  test('a place whose time lies days ahead, because the clock of Postgres was set back', async () => {
    const { view } = await importFile(fixture, appId, csv)
    await late.deleteAlice()
    await late.write(view.import_id)
    await sql`update file_sweeps set due_at = due_at + interval '3 days'`.execute(fixture.database.db)
    expect(await sweepFiles(fixture.context)).toBe(1)
    expect(await late.stored(view.import_id)).toEqual([])
  })
})
