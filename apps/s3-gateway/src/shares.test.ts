import { maxRelayRequests } from '@sluice/storage'
import { expect, test } from 'vitest'
import { admitSender } from './shares.ts'

const senderOf = (appId: number, accessKeyId = `key of ${appId}`) => ({ appId, accessKeyId })

/** Admits requests until one is refused. Returns one release for each admitted request. */
function exhaust(admit: () => () => void): (() => void)[] {
  const releases: (() => void)[] = []
  for (;;) {
    try {
      releases.push(admit())
    } catch (error) {
      expect(error).toMatchObject({ code: 'SlowDown', status: 503 })
      return releases
    }
  }
}

test('an app has its share of uploads, and each of its keys half of that', () => {
  const admit = admitSender(10)
  const keyOne = () => admit(senderOf(1, 'one'), 'PutObject')
  const keyTwo = () => admit(senderOf(1, 'two'), 'UploadPart')
  expect(exhaust(keyOne)).toHaveLength(5)
  expect(exhaust(keyTwo)).toHaveLength(5)
  expect(exhaust(() => admit(senderOf(1, 'three'), 'PutObject'))).toHaveLength(0)
  expect(exhaust(() => admit(senderOf(2), 'PutObject'))).toHaveLength(5)
})

test('an upload that has ended releases its share', () => {
  const admit = admitSender(10)
  const upload = () => admit(senderOf(1), 'PutObject')
  const releases = exhaust(upload)
  for (const release of releases.slice(0, 2)) release()
  expect(exhaust(upload)).toHaveLength(2)
})

test('uploads and other operations have separate shares', () => {
  const admit = admitSender(10)
  exhaust(() => admit(senderOf(1), 'PutObject'))
  expect(exhaust(() => admit(senderOf(1), 'ListObjectsV2'))).toHaveLength(25)
  expect(exhaust(() => admit(senderOf(2), 'CompleteMultipartUpload'))).toHaveLength(25)
})

test('the uploads of all apps together leave some requests to storage for short calls', () => {
  const admit = admitSender(200)
  const admitted = Array.from({ length: 20 }, (_, index) => exhaust(() => admit(senderOf(index), 'PutObject')).length)
  expect(admitted.reduce((sum, each) => sum + each)).toBe(maxRelayRequests - 100)
})
