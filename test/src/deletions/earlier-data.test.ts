import { beginUpload, finishUpload, importUnannouncedFiles, pathOf } from '@sluice/bucket-uploads'
import { noticeUploads, receiveImport, receiveUpload, requestImport, runImport } from '@sluice/imports'
import { registeredKeys, registerKeys, registerUsers } from '@sluice/profiles'
import { beforeEach, describe, expect, test } from 'vitest'
import { claim, openApp, profilesOf, queueFile, resultOf } from '../imports/import-fixture.ts'
import { type BucketFixture, openBucketFixture, request, runAt, schedule } from './deletion-fixture.ts'

// Data that was sent before a user's deletion completed is deleted too, however late it is processed. It neither
// reaches a user who registers again, nor appears in an error file.
let fixture: BucketFixture
let appId: number
beforeEach(async () => {
  fixture = await openBucketFixture()
  appId = await openApp(fixture, ['alice', 'bob'])
  await fixture.database.db.transaction().execute((tx) => registerKeys(tx, appId, new Map([['age', 'int']]), 500))
  return () => fixture.close()
})

const deleteUsers = async (...userIds: string[]) => {
  await request(fixture, appId, userIds, schedule.accepted)
  await runAt(fixture, schedule.completion)
}
const register = (...userIds: string[]) => registerUsers(fixture.database.db, appId, userIds)
const deleteAndRegisterAgain = async () => {
  await deleteUsers('alice')
  await register('alice')
}

const run = async (importId: string) => {
  await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
  return await resultOf(fixture, appId, importId)
}

const csv = 'user_id,age\nalice,1\nbob,2\n'
const csvBytes = Buffer.from(csv)
const md5 = '2+2ZLdO38zP1EU2PhOYxMw=='

describe('a file that waits while a user is deleted', () => {
  const file = 'user_id,age\nbob,1\nbob,2\nalice,3\nalice,none\nalice,4,5\nghost,6\nbob,none\n'

  test.each([
    ['is applied to', 'registers again', true],
    ['reports', 'does not register again', false],
  ])('%s nobody who %s', async (_, __, registersAgain) => {
    const importId = await queueFile(fixture, appId, file)
    await deleteUsers('alice')
    if (registersAgain) await register('alice')
    const { view, errorFile } = await run(importId)
    expect(await profilesOf(fixture, appId)).toEqual({ bob: { age: 2 }, ...(registersAgain && { alice: {} }) })
    expect(errorFile?.toString()).toBe(
      'SERVICE_ERRORS,user_id,age\nuser_id is unregistered user,ghost,6\nage should be integer,bob,none\n',
    )
    expect(view).toMatchObject({ state: 'completed', rows_total: 7, rows_applied: 5, rows_failed: 2 })
  })

  test.each([true, false])(
    'is checked by a dry run without the rows of deleted users (registered again: %s)',
    async (again) => {
      const importId = await queueFile(fixture, appId, file, 'text/csv', true)
      await deleteUsers('alice')
      if (again) await register('alice')
      const { view, errorFile } = await run(importId)
      expect(errorFile?.toString()).not.toContain('alice')
      expect(view).toMatchObject({ state: 'completed', rows_total: 7, rows_applied: 0, rows_failed: 2 })
    },
  )

  test('registers no key that only rows of deleted users use', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,age,secret\nalice,1,x\nbob,2,\n')
    await deleteAndRegisterAgain()
    await run(importId)
    expect([...(await registeredKeys(fixture.database.db, appId)).keys()]).toEqual(['age'])
  })

  test('is not applied to an ID that is registered for the first time after its deletion', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,age\ncarl,1\n')
    await deleteUsers('carl')
    await register('carl')
    await run(importId)
    expect((await profilesOf(fixture, appId)).carl).toEqual({})
  })

  test('does not report a row whose user cannot be read', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,age\nbob,2\nghost,6\nalice,"3\n')
    await deleteUsers('alice')
    const { view, errorFile } = await run(importId)
    expect(errorFile?.toString()).toBe('SERVICE_ERRORS,user_id,age\nuser_id is unregistered user,ghost,6\n')
    expect(view).toMatchObject({ rows_total: 3, rows_applied: 1, rows_failed: 2 })
  })

  test('reports nothing if none of its rows can be read', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,age\nalice,"3\n')
    await deleteUsers('alice')
    const { view, errorFile } = await run(importId)
    expect(errorFile).toBeUndefined()
    expect(view).toMatchObject({ rows_total: 1, rows_applied: 0, rows_failed: 1 })
  })

  test('of another app is applied to the user with the same ID there', async () => {
    const other = await openApp(fixture, ['alice'])
    const importId = await queueFile(fixture, other, csv)
    await deleteUsers('alice')
    await runImport(fixture.context, await claim(fixture, other, importId), new AbortController().signal)
    expect(await profilesOf(fixture, other)).toEqual({ alice: { age: 1 } })
  })
})

test('a file that is sent after the deletion is applied to a user who registers again, even if an earlier file waits', async () => {
  const earlier = await queueFile(fixture, appId, csv)
  await deleteAndRegisterAgain()
  const later = await queueFile(fixture, appId, 'user_id,age\nalice,7\n')
  await run(earlier)
  await run(later)
  expect(await profilesOf(fixture, appId)).toEqual({ alice: { age: 7 }, bob: { age: 2 } })
})

test('a user who is deleted twice is protected from data sent before the second deletion', async () => {
  await deleteAndRegisterAgain()
  const between = await queueFile(fixture, appId, csv)
  await request(fixture, appId, ['alice'], schedule.completion)
  await runAt(fixture, '2101-01-01T00:00:00Z')
  await register('alice')
  await run(between)
  expect(await profilesOf(fixture, appId)).toEqual({ alice: {}, bob: { age: 2 } })
})

describe('data counts as sent when its content was fixed:', () => {
  const applied = { alice: {}, bob: { age: 2 } }

  test('by the first request of v3, even if its file arrives after the deletion', async () => {
    const terms = { checksum: md5, byte_size: csvBytes.length, content_type: 'text/csv' as const, dry_run: false }
    const { importId } = await requestImport(fixture.context, appId, terms)
    await deleteAndRegisterAgain()
    await fixture.storage.write(`apps/${appId}/imports/${importId}/upload`, csvBytes, 'text/csv')
    expect(await noticeUploads(fixture.context)).toMatchObject({ queued: 1 })
    await run(importId)
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test('by the request of v2, even if its body is still arriving when the deletion completes', async () => {
    const settings = { ...fixture.context.settings, API_UPLOAD_TIMEOUT: 60_000 }
    async function* content() {
      yield csvBytes.subarray(0, 20)
      await deleteAndRegisterAgain()
      yield csvBytes.subarray(20)
    }
    const body = { contentType: 'text/csv', byteSize: csvBytes.length, content: content() } as const
    const received = await receiveImport({ ...fixture.context, settings }, appId, body)
    await run('importId' in received ? received.importId : expect.fail(received.refused))
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test('by the request of the dashboard, even before the first byte', async () => {
    async function* bytes() {
      yield csvBytes.subarray(0, 1)
      await deleteAndRegisterAgain()
      yield csvBytes.subarray(1)
    }
    const importId = await receiveUpload(fixture.context, appId, {
      byteSize: csvBytes.length,
      bytes: bytes(),
      longestMs: 60_000,
    })
    await run(importId ?? expect.fail('the upload was cancelled'))
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test('by the beginning of a bucket upload, even if the upload ends after the deletion', async () => {
    const upload = await beginUpload(fixture.maintenance, appId, 'people.csv')
    await deleteAndRegisterAgain()
    await fixture.storage.write(upload.objectKey, csvBytes, 'text/csv')
    expect(await finishUpload(fixture.maintenance, upload, { kind: 'parts' })).toBeDefined()
    await run(upload.importId)
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })

  test('by the modification time of an unannounced file, even if it is found after the deletion', async () => {
    await fixture.storage.write(`${pathOf(appId)}people.csv`, csvBytes, 'text/csv')
    await deleteAndRegisterAgain()
    expect(await importUnannouncedFiles(fixture.maintenance)).toMatchObject({ imported: 1 })
    const { import_id: importId } = await fixture.database.db
      .selectFrom('imports')
      .select('import_id')
      .executeTakeFirstOrThrow()
    await run(importId)
    expect(await profilesOf(fixture, appId)).toEqual(applied)
  })
})
