import { expect, onTestFinished, test } from 'vitest'
import { openTestStorage, unfinishedUploads } from '../environment/storage.ts'

test('more uploads in parts than storage lists at a time are removed with the other files', async () => {
  const storage = openTestStorage()
  onTestFinished(() => storage.close())
  const prefix = `apps/1/imports/${crypto.randomUUID()}/`
  const keys = Array.from({ length: 1_001 }, (_, index) => `${prefix}errors-${index}.csv`)
  await Promise.all(keys.map((key) => storage.beginParts(key, { contentType: 'text/csv', user: {} })))
  await storage.removeAll(prefix)
  expect(await unfinishedUploads(prefix)).toBe(0)
})
