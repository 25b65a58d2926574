import { openStorage } from '@sluice/storage'
import { expect, inject, onTestFinished, test } from 'vitest'
import { startTcpProxy } from './harness/tcp-proxy.ts'

test('idle connections to storage that died without notice cost one timeout together, not one timeout each', async () => {
  const proxy = await startTcpProxy(() => Number(new URL(inject('s3Endpoint')).port))
  const storage = openStorage({
    S3_ENDPOINT: `http://127.0.0.1:${proxy.port}`,
    S3_PUBLIC_ENDPOINT: undefined,
    S3_REGION: 'us-east-1',
    S3_BUCKET: 'test',
    S3_ACCESS_KEY_ID: 'test',
    S3_SECRET_ACCESS_KEY: 'test-secret',
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
