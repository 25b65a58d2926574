import { gunzipSync } from 'node:zlib'
import { connect } from '@sluice/database'
import { claimExport, runExport } from '@sluice/exports'
import { expect, onTestFinished, test } from 'vitest'
import { importFile, openApp, openImportFixture } from '../imports/import-fixture.ts'
import { startMessageProxy } from '../sweep/wire/message-proxy.ts'
import { readPostgresUnits } from '../sweep/wire/postgres.ts'
import { request, show, storedFile } from './export-fixture.ts'

test('an export whose last commit succeeded keeps its file, although the answer was lost', async () => {
  const fixture = await openImportFixture()
  onTestFinished(() => fixture.close())
  const appId = await openApp(fixture, ['u1'])
  await importFile(fixture, appId, 'user_id,name\nu1,Ann\n')
  const exportId = await request(fixture, appId)

  const url = new URL(fixture.database.url)
  let completing = false
  const proxy = await startMessageProxy(Number(url.port), readPostgresUnits, ({ label = '' }) => {
    completing ||= label.startsWith('update "exports" set "state"')
    if (!completing || label !== 'commit') return { kind: 'forward' }
    return { kind: 'lose answer', before: () => {}, after: async () => {} }
  })
  onTestFinished(() => proxy.close())
  url.port = String(proxy.port)
  const { db, close } = connect(url.href, { onError: () => {} })
  onTestFinished(close)

  const claim = await claimExport({ ...fixture.context, db })
  if (claim === undefined) throw new Error('no export waits')
  expect(await runExport({ ...fixture.context, db }, claim, new AbortController().signal)).toBe('completed')
  expect(await show(fixture, appId, exportId)).toMatchObject({ state: 'completed', rows: 1 })
  expect(gunzipSync(await storedFile(fixture, appId, exportId)).toString()).toBe('user_id,name\nu1,Ann\n')
})
