import { beginUpload, finishUpload, importUnannouncedFiles, pathOf } from '@sluice/bucket-uploads'
import { sql } from '@sluice/database'
import { noticeUploads, receiveDashboardFile, receiveV2File, requestImport } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import { beforeEach, describe, expect, test } from 'vitest'
import { profilesOf, queueFile } from '../imports/import-fixture.ts'
import { type BucketFixture, request, runAt, schedule } from './deletion-fixture.ts'
import {
  csv,
  type EarlierData,
  expectDryRunWithoutDeleted,
  mixedFile,
  openEarlierData,
} from './earlier-data-fixture.ts'

// Data that was sent before a user's deletion completed is deleted too, however late it is processed. It neither
// reaches a user who registers again, nor appears in an error file. earlier-data.long.test.ts has further cases.
let data: EarlierData
let fixture: BucketFixture
let appId: number
beforeEach(async () => {
  data = await openEarlierData()
  ;({ fixture, appId } = data)
  return () => fixture.close()
})

const csvBytes = Buffer.from(csv)
const md5 = '2+2ZLdO38zP1EU2PhOYxMw=='

// service.md, States and transitions.
describe('a file that waits while a user is deleted', () => {
  test.each([
    ['is applied to', 'registers again', true],
    ['reports', 'does not register again', false],
  ])('%s nobody who %s', async (_, __, registersAgain) => {
    const importId = await queueFile(fixture, appId, mixedFile)
    await data.deleteUsers('alice')
    if (registersAgain) await data.register('alice')
    const { view, errorFile } = await data.run(importId)
    expect(await profilesOf(fixture, appId)).toEqual({ bob: { age: 2 }, ...(registersAgain && { alice: {} }) })
    expect(errorFile?.toString()).toBe(
      'SERVICE_ERRORS,user_id,age\nuser_id is unregistered user,ghost,6\nage should be integer,bob,none\n',
    )
    expect(view).toMatchObject({ state: 'completed', rows_total: 7, rows_applied: 5, rows_failed: 2 })
  })

  test('is not applied, although the clock of a failover makes the deletion look earlier', async () => {
    const importId = await queueFile(fixture, appId, csv)
    await data.deleteAndRegisterAgain()
    await sql`update recently_deleted_users set deleted_at = deleted_at - interval '10 s'`.execute(fixture.database.db)
    await data.run(importId)
    expect((await profilesOf(fixture, appId)).alice).toEqual({})
  })

  test('is checked by a dry run without the rows of deleted users (registered again: true)', async () => {
    await expectDryRunWithoutDeleted(data, true)
  })

  test('registers no key that only rows of deleted users use', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,age,secret\nalice,1,x\nbob,2,\n')
    await data.deleteAndRegisterAgain()
    await data.run(importId)
    expect([...(await registeredKeys(fixture.database.db, appId)).keys()]).toEqual(['age'])
  })

  test('is not applied to an ID that is registered for the first time after its deletion', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,age\ncarl,1\n')
    await data.deleteUsers('carl')
    await data.register('carl')
    await data.run(importId)
    expect((await profilesOf(fixture, appId)).carl).toEqual({})
  })

  test('does not report a row whose user cannot be read', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,age\nbob,2\nghost,6\nalice,"3\n')
    await data.deleteUsers('alice')
    const { view, errorFile } = await data.run(importId)
    expect(errorFile?.toString()).toBe('SERVICE_ERRORS,user_id,age\nuser_id is unregistered user,ghost,6\n')
    expect(view).toMatchObject({ rows_total: 3, rows_applied: 1, rows_failed: 2 })
  })
})

test('a user who is deleted twice is protected from data sent before the second deletion', async () => {
  await data.deleteAndRegisterAgain()
  const between = await queueFile(fixture, appId, csv)
  await request(fixture, appId, ['alice'], schedule.completion)
  await runAt(fixture, '2101-01-01T00:00:00Z')
  await data.register('alice')
  await data.run(between)
  expect(await profilesOf(fixture, appId)).toEqual({ alice: {}, bob: { age: 2 } })
})

describe('data counts as sent when its content was fixed:', () => {
  const applied = { alice: {}, bob: { age: 2 } }
  const onlyImport = async () => {
    const imports = await fixture.database.db.selectFrom('imports').select('import_id').execute()
    return imports[0]?.import_id ?? ''
  }

  test('by the first request of v3, even if its file arrives after the deletion', async () => {
    const terms = { checksum: md5, byte_size: csvBytes.length, content_type: 'text/csv' as const, dry_run: false }
    const { importId } = await requestImport(fixture.context, appId, terms)
    await data.deleteAndRegisterAgain()
    await fixture.storage.write(`apps/${appId}/imports/${importId}/upload`, csvBytes, 'text/csv')
    expect(await noticeUploads(fixture.context)).toMatchObject({ queued: 1 })
    await data.run(importId)
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test('by the request of v2, even if its body is still arriving when the deletion completes', async () => {
    const settings = { ...fixture.context.settings, API_UPLOAD_TIMEOUT: 60_000 }
    async function* content() {
      yield csvBytes.subarray(0, 20)
      await data.deleteAndRegisterAgain()
      yield csvBytes.subarray(20)
    }
    const body = { contentType: 'text/csv', byteSize: csvBytes.length, content: content() } as const
    const received = await receiveV2File({ ...fixture.context, settings }, appId, body)
    await data.run('importId' in received ? received.importId : expect.fail(received.refused))
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test('by the request of the dashboard, even before the first byte', async () => {
    async function* bytes() {
      yield csvBytes.subarray(0, 1)
      await data.deleteAndRegisterAgain()
      yield csvBytes.subarray(1)
    }
    const importId = await receiveDashboardFile(fixture.context, appId, {
      byteSize: csvBytes.length,
      bytes: bytes(),
      longestMs: 60_000,
    })
    await data.run(importId ?? expect.fail('the upload was cancelled'))
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test('by the beginning of a bucket upload, even if the upload ends after the deletion', async () => {
    const upload = await beginUpload(fixture.maintenance, appId, 'people.csv')
    await data.deleteAndRegisterAgain()
    await fixture.storage.write(upload.objectKey, csvBytes, 'text/csv')
    expect(await finishUpload(fixture.maintenance, upload, { kind: 'parts' })).toBeDefined()
    await data.run(upload.importId)
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test('by the modification time of an unannounced file, even if it is found after the deletion', async () => {
    await fixture.storage.write(`${pathOf(appId)}people.csv`, csvBytes, 'text/csv')
    await data.deleteAndRegisterAgain()
    expect(await importUnannouncedFiles(fixture.maintenance)).toMatchObject({ imported: 1 })
    await data.run(await onlyImport())
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test.each([10, 3_600])(
    'by the time of an unannounced file, even if Postgres’s clock is set back by %i s before the deletion',
    async (seconds) => {
      // The times of storage are then as far ahead.
      const { storage } = fixture.bucket
      const ahead = (modifiedAt: Date) => new Date(modifiedAt.getTime() + seconds * 1_000)
      const storageAhead: typeof storage = {
        ...storage,
        async *list(prefix) {
          for await (const page of storage.list(prefix))
            yield page.map((object) => ({ ...object, modifiedAt: ahead(object.modifiedAt) }))
        },
        async stat(key) {
          const object = await storage.stat(key)
          return object && { ...object, modifiedAt: ahead(object.modifiedAt) }
        },
      }
      await fixture.storage.write(`${pathOf(appId)}people.csv`, csvBytes, 'text/csv')
      await request(fixture, appId, ['alice'], schedule.accepted)
      await runAt(fixture, schedule.completion, { storage: storageAhead })
      await data.register('alice')
      await importUnannouncedFiles({ ...fixture.maintenance, storage: storageAhead })
      await data.run(await onlyImport())
      expect(await profilesOf(fixture, appId)).toEqual(applied)
    },
  )
})
