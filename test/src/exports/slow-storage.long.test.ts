import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { claimExport, runExport } from '@sluice/exports'
import { openStorage } from '@sluice/storage'
import { expect, onTestFinished, test } from 'vitest'
import { settingsOf, testStorageSettings } from '../environment/storage.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'
import { importFile, openApp, openImportFixture } from '../imports/import-fixture.ts'
import { request, show, storedFile } from './export-fixture.ts'

test('an export over a line of 0.7 MB/s completes in its first try', async () => {
  const fixture = await openImportFixture()
  const proxy = await startTcpProxy(() => Number(new URL(testStorageSettings().S3_ENDPOINT).port))
  const storage = openStorage(settingsOf(`http://127.0.0.1:${proxy.port}`))
  onTestFinished(async () => {
    storage.close()
    await proxy.close()
    await fixture.close()
  })
  // Two parts of random values, which cannot be compressed.
  const ids = Array.from({ length: 10_000 }, (_, index) => `u${index}`)
  const appId = await openApp(fixture, ids)
  const values = () => Array.from({ length: 5 }, () => randomBytes(180).toString('base64')).join(',')
  await importFile(fixture, appId, `user_id,a,b,c,d,e\n${ids.map((id) => `${id},${values()}\n`).join('')}`)
  const exportId = await request(fixture, appId)
  const claim = await claimExport(fixture.context)
  if (claim === undefined) throw new Error('no export waits')

  proxy.set({ kind: 'slow', bytesPerSecond: 700_000 })
  expect(await runExport({ ...fixture.context, storage }, claim, new AbortController().signal)).toBe('completed')
  expect(await show(fixture, appId, exportId)).toMatchObject({ state: 'completed', rows: ids.length })
  expect(
    gunzipSync(await storedFile(fixture, appId, exportId))
      .toString()
      .split('\n'),
  ).toHaveLength(ids.length + 2)
}, 60_000)
