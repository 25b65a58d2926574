import { gunzipSync } from 'node:zlib'
import { claimExport, runExport } from '@sluice/exports'
import { expect, onTestFinished, test } from 'vitest'
import { losingCommitAfter } from '../database/lost-commit.ts'
import { importFile, openApp, openImportFixture } from '../imports/import-fixture.ts'
import { request, show, storedFile } from './export-fixture.ts'

test('an export whose last commit succeeded keeps its file, although the answer was lost', async () => {
  const fixture = await openImportFixture()
  onTestFinished(() => fixture.close())
  const appId = await openApp(fixture, ['u1'])
  await importFile(fixture, appId, 'user_id,name\nu1,Ann\n')
  const exportId = await request(fixture, appId)

  const db = await losingCommitAfter(fixture.database.url, 'update "exports" set "state"')
  const claim = await claimExport({ ...fixture.context, db })
  if (claim === undefined) throw new Error('no export waits')
  expect(await runExport({ ...fixture.context, db }, claim, new AbortController().signal)).toBe('completed')
  expect(await show(fixture, appId, exportId)).toMatchObject({ state: 'completed', rows: 1 })
  expect(gunzipSync(await storedFile(fixture, appId, exportId)).toString()).toBe('user_id,name\nu1,Ann\n')
})
