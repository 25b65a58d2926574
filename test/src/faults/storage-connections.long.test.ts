import { openStorage } from '@sluice/storage'
import { expect, inject, onTestFinished, test } from 'vitest'
import { testStorageSettings } from '../environment/storage.ts'
import { startTcpProxy } from './harness/tcp-proxy.ts'

test('idle connections to storage that died without notice cost one timeout together, not one timeout each', async () => {
  const proxy = await startTcpProxy(() => Number(new URL(inject('s3Endpoint')).port))
  const storage = openStorage({
    ...testStorageSettings(),
    S3_ENDPOINT: `http://127.0.0.1:${proxy.port}`,
  })
  onTestFinished(async () => {
    storage.close()
    await proxy.close()
  })
  const stat = () => storage.stat('apps/1/imports/none/upload')
  await Promise.all(Array.from({ length: 10 }, stat))
  proxy.set({ kind: 'stall' })
  proxy.set({ kind: 'fine' })
  // The first try uses a dead connection and times out after 20 s. The retry succeeds.
  expect(await stat()).toBeUndefined()
})
