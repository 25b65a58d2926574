import { readSettings } from '@sluice/config'
import type { OperationName } from '@sluice/s3-endpoint'
import { expect, test } from 'vitest'
import { admitSender, maxStorageRequests } from './shares.ts'

const senderOf = (appId: number, accessKeyId = `key of ${appId}`) => ({ appId, accessKeyId })

/** Admits requests until one is refused. Returns one release for each admitted request. */
async function exhaust(admit: () => Promise<() => void>): Promise<(() => void)[]> {
  const releases: (() => void)[] = []
  for (;;) {
    try {
      releases.push(await admit())
    } catch (error) {
      expect(error).toMatchObject({ code: 'SlowDown', status: 503 })
      return releases
    }
  }
}

test('an app has its share of uploads, and each of its keys half of that', async () => {
  const admit = admitSender(10, 0)
  const keyOne = () => admit(senderOf(1, 'one'), 'PutObject')
  const keyTwo = () => admit(senderOf(1, 'two'), 'UploadPart')
  expect(await exhaust(keyOne)).toHaveLength(5)
  expect(await exhaust(keyTwo)).toHaveLength(5)
  expect(await exhaust(() => admit(senderOf(1, 'three'), 'PutObject'))).toHaveLength(0)
  expect(await exhaust(() => admit(senderOf(2), 'PutObject'))).toHaveLength(5)
})

test('by default, an app has 100 uploads, and each of its keys 50', async () => {
  const { S3_GATEWAY_APP_UPLOADS } = readSettings({}, ['S3_GATEWAY_APP_UPLOADS'])
  const admit = admitSender(S3_GATEWAY_APP_UPLOADS, 0)
  for (const [key, uploads] of [
    ['one', 50],
    ['two', 50],
    ['three', 0],
  ] as const) {
    expect(await exhaust(() => admit(senderOf(1, key), 'PutObject'))).toHaveLength(uploads)
  }
})

test('an upload that has ended releases its share', async () => {
  const admit = admitSender(10, 0)
  const upload = () => admit(senderOf(1), 'PutObject')
  const releases = await exhaust(upload)
  for (const release of releases.slice(0, 2)) release()
  expect(await exhaust(upload)).toHaveLength(2)
})

test('uploads and other operations have separate shares', async () => {
  const admit = admitSender(10, 0)
  await exhaust(() => admit(senderOf(1), 'PutObject'))
  expect(await exhaust(() => admit(senderOf(1), 'ListObjectsV2'))).toHaveLength(25)
  expect(await exhaust(() => admit(senderOf(2), 'CompleteMultipartUpload'))).toHaveLength(25)
})

test('the uploads of all apps together leave some requests to storage for short calls', async () => {
  const admit = admitSender(200, 0)
  let admitted = 0
  for (let app = 1; app <= 20; app++) {
    admitted += (await exhaust(() => admit(senderOf(app), 'PutObject'))).length
  }
  expect(admitted).toBe(maxStorageRequests - 100)
})

test('the uploads of an app start 60 ms apart by default; other apps and other operations do not wait', async () => {
  const admit = admitSender(10)
  const began = performance.now()
  const started: string[] = []
  const start = async (what: string, appId: number, operation: OperationName) => {
    await admit(senderOf(appId), operation)
    started.push(what)
  }
  await Promise.all([
    start('first', 1, 'PutObject'),
    start('second', 1, 'UploadPart'),
    start('third', 1, 'PutObject'),
    start('other app', 2, 'PutObject'),
    start('listing', 1, 'ListObjectsV2'),
  ])
  expect(started.slice(0, 3).toSorted()).toEqual(['first', 'listing', 'other app'])
  expect(started.slice(3)).toEqual(['second', 'third'])
  // Each of the two timers may end up to a millisecond early.
  expect(performance.now() - began).toBeGreaterThan(118)
})
