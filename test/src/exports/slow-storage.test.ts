import { randomBytes } from 'node:crypto'
import { claimExport, type ExportClaim, runExport } from '@sluice/exports'
import { openStorage } from '@sluice/storage'
import { beforeEach, expect, test } from 'vitest'
import { settingsOf, testStorageSettings } from '../environment/storage.ts'
import { until } from '../environment/wait.ts'
import { type StorageProxy, startStorageProxy } from '../faults/harness/storage-proxy.ts'
import { type ImportFixture, importFile, openApp, openImportFixture } from '../imports/import-fixture.ts'
import { request, show } from './export-fixture.ts'
import { sessionsInTransaction } from './sessions.ts'

// The transaction of an export ends with its last row, whatever storage does.
let fixture: ImportFixture
let proxy: StorageProxy
beforeEach(async () => {
  proxy = await startStorageProxy(Number(new URL(testStorageSettings().S3_ENDPOINT).port))
  const opened = await openImportFixture()
  const storage = openStorage(settingsOf(`http://127.0.0.1:${proxy.port}`))
  fixture = { ...opened, context: { ...opened.context, storage } }
  return async () => {
    storage.close()
    await opened.close()
    await proxy.close()
  }
})

test.each([
  ['has all rows and does not answer', 1],
  ['accepts no more rows, and the last rows are still in the buffers of the network', 6_000],
])('while storage %s, Postgres has ended the transaction', async (_, users) => {
  const ids = Array.from({ length: users }, (_user, index) => `u${index}`)
  const appId = await openApp(fixture, ids)
  // Random values cannot be compressed, so the file of 6,000 users is longer than a part of an upload (5 MiB).
  const values = () => Array.from({ length: 5 }, () => randomBytes(180).toString('base64')).join(',')
  await importFile(fixture, appId, `user_id,a,b,c,d,e\n${ids.map((id) => `${id},${values()}\n`).join('')}`)
  const exportId = await request(fixture, appId)
  const claim = (await claimExport(fixture.context)) as ExportClaim

  const released = Promise.withResolvers<void>()
  let uploads = 0
  proxy.set(({ method }) => (method === 'PUT' && ++uploads > 0 ? { kind: 'hold', until: released.promise } : undefined))
  const running = runExport(fixture.context, claim, new AbortController().signal)
  await until('the upload of the file', () => uploads > 0)
  // Less than the 10 s after which Postgres ends an idle transaction.
  const ended = async () => (await sessionsInTransaction(fixture.database.db)).length === 0
  const over = until('the end of the transaction', ended, 5_000).finally(released.resolve)
  const [outcome] = await Promise.all([running, over])

  expect(outcome).toBe('completed')
  expect(await show(fixture, appId, exportId)).toMatchObject({ state: 'completed', rows: users })
})
