import { noticeUploads } from '@sluice/imports'
import { describe, expect, test } from 'vitest'
import { eachWithAppInOrder, smallFile } from './app-in-order.ts'

const app = eachWithAppInOrder()

describe('uploads', () => {
  // service.md, States and transitions.
  test('an import is queued when its file is there, under the ETag that it has then', async () => {
    const importId = await app.awaitUpload()
    expect(await noticeUploads(app.context)).toEqual({ queued: 0, expired: 0 })
    await app.upload(importId)
    await app.age(importId, 2)
    expect(await noticeUploads(app.context)).toEqual({ queued: 1, expired: 0 })
    expect(await app.state(importId)).toBe('queued')
  })

  // design.md §3, Upload never comes.
  test('an import whose file never arrives expires a minute after its upload window, without a mail', async () => {
    const importId = await app.awaitUpload()
    await app.age(importId, 5 * 60 + 30)
    await noticeUploads(app.context)
    expect(await app.state(importId)).toBe('awaiting_upload')
    await app.age(importId, 31)
    expect(await noticeUploads(app.context)).toEqual({ queued: 0, expired: 1 })
    expect((await app.resultOf(importId)).view).toMatchObject({ state: 'expired', started_at: null })
    expect(await app.db.selectFrom('mails').selectAll().execute()).toEqual([])
  })

  // service.md, States and transitions.
  test('a slow upload that began in time and ends after that is not lost', async () => {
    const importId = await app.awaitUpload()
    await app.age(importId, 400)
    await noticeUploads(app.context)
    expect(await app.state(importId)).toBe('expired')
    await app.upload(importId)
    await app.age(importId, 600)
    expect(await noticeUploads(app.context)).toEqual({ queued: 1, expired: 0 })
    expect(await app.dispatch()).toEqual([importId])
    await app.run(importId)
    expect(await app.state(importId)).toBe('completed')
  })

  test('an expired import delays no other import', async () => {
    const first = await app.awaitUpload()
    const second = await app.queue(smallFile)
    await app.age(first, 400)
    await noticeUploads(app.context)
    expect(await app.dispatch()).toEqual([second])
  })
})
