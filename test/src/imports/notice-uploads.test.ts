import { noticeUploads, runImport } from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { type AppInOrder, openAppInOrder, smallFile } from './app-in-order.ts'
import { claim, type ImportFixture, openImportFixture, queueFile, resultOf } from './import-fixture.ts'

// Maintenance notices uploads, and imports without a file expire (design.md §3, Upload never comes).
let fixture: ImportFixture
let app: AppInOrder
let appId: number
const noShutdown = new AbortController().signal

beforeEach(async () => {
  fixture = await openImportFixture()
  app = await openAppInOrder(fixture)
  appId = app.appId
  return () => fixture.close()
})

describe('uploads', () => {
  // service.md, States and transitions.
  test('an import is queued when its file is there, under the ETag that it has then', async () => {
    const importId = await app.awaitUpload()
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 0, expired: 0 })
    await app.upload(importId)
    await app.age(importId, 2)
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 1, expired: 0 })
    expect(await app.state(importId)).toBe('queued')
  })

  test('an import whose file never arrives expires a minute after its upload window, without a mail', async () => {
    const importId = await app.awaitUpload()
    await app.age(importId, 5 * 60 + 30)
    await noticeUploads(fixture.context)
    expect(await app.state(importId)).toBe('awaiting_upload')
    await app.age(importId, 31)
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 0, expired: 1 })
    expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'expired', started_at: null })
    expect(await fixture.database.db.selectFrom('mails').selectAll().execute()).toEqual([])
  })

  test('a slow upload that began in time and ends after that is not lost', async () => {
    const importId = await app.awaitUpload()
    await app.age(importId, 400)
    await noticeUploads(fixture.context)
    expect(await app.state(importId)).toBe('expired')
    await app.upload(importId)
    await app.age(importId, 600)
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 1, expired: 0 })
    expect(await app.dispatch()).toEqual([importId])
    await runImport(fixture.context, await claim(fixture, appId, importId), noShutdown)
    expect(await app.state(importId)).toBe('completed')
  })

  test('an expired import delays no other import', async () => {
    const first = await app.awaitUpload()
    const second = await queueFile(fixture, appId, smallFile)
    await app.age(first, 400)
    await noticeUploads(fixture.context)
    expect(await app.dispatch()).toEqual([second])
  })
})
