import { cancelImport, reportCancelled, runImport } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { csvOf, errorLines, openAppWithUsers, rowsOf } from './cancelled-rows.ts'
import { endLease } from './forced-states.ts'
import { claim, openImportFixture, queueFile, resultOf } from './import-fixture.ts'
import { slowReads } from './slow-storage.ts'

// Maintenance makes the report of a cancelled import: its error file and its mails.
const fixture = openBeforeAll(() => openImportFixture({ BATCH_ROWS: '5', INFERENCE_ROWS: '5', IMPORT_ATTEMPTS: '3' }))
let appId: number

beforeEach(async () => {
  await reportCancelled(fixture.context) // of the preceding test
  appId = await openAppWithUsers(fixture)
})

/** Returns an import that was cancelled after some batches, with its report due. */
async function cancelledMidway(): Promise<string> {
  const importId = await queueFile(fixture, appId, csvOf(rowsOf('a')))
  let seen = 0
  const storage = slowReads(fixture.storage, 32, async () => {
    if (seen++ === 18) await cancelImport(fixture.database.db, { appId, importId })
  })
  await runImport({ ...fixture.context, storage }, await claim(fixture, appId, importId), new AbortController().signal)
  expect((await resultOf(fixture, appId, importId)).view.rows_failed).toBeGreaterThan(0)
  return importId
}

test('the report is made by another process if the first one dies: one error file, one mail', async () => {
  const importId = await cancelledMidway()
  const hanging = Promise.withResolvers<never>()
  const begun = Promise.withResolvers<void>()
  const dying: Storage = {
    ...fixture.storage,
    async writeStream(key, content, type) {
      begun.resolve()
      await hanging.promise.catch(() => {})
      await fixture.storage.writeStream(key, content, type)
    },
  }
  const late = reportCancelled({ ...fixture.context, storage: dying })
  await begun.promise
  expect(await reportCancelled(fixture.context)).toEqual([])
  await endLease(fixture.database.db, importId)
  expect(await reportCancelled(fixture.context)).toHaveLength(1)
  const made = await resultOf(fixture, appId, importId)
  // The first process was only paused. No link leads to the file that it writes now.
  hanging.reject(new Error('as expected'))
  expect(await late).toEqual([])
  expect(await resultOf(fixture, appId, importId)).toEqual(made)
  expect(made.errorFile?.toString()).toBe(errorLines(rowsOf('a').slice(0, made.view.rows_total)))
  const event = `import:${importId}`
  const mails = await fixture.database.db.selectFrom('mails').selectAll().where('event', '=', event).execute()
  expect(mails).toHaveLength(1)
})

test('the report is made without an error file if storage refuses the file repeatedly, and waits during an outage of storage', async () => {
  const importId = await cancelledMidway()
  let isOutage = true
  const refusing: Storage = {
    ...fixture.storage,
    writeStream: () => Promise.reject(new Error('403 AccessDenied')),
    check: () => (isOutage ? Promise.reject(new Error('connection refused')) : Promise.resolve()),
  }
  const tryOnce = async () => {
    await endLease(fixture.database.db, importId)
    return await reportCancelled({ ...fixture.context, storage: refusing })
  }
  for (let tries = 0; tries < 6; tries++) expect(await tryOnce()).toEqual([])
  isOutage = false
  for (let tries = 0; tries < 3; tries++) expect(await tryOnce()).toEqual([])
  expect(await tryOnce()).toHaveLength(1)
  const { view } = await resultOf(fixture, appId, importId)
  expect(view).toMatchObject({ state: 'cancelled', error_file_url: null })
})

test('the report is made by another process if the first one shuts down', async () => {
  const importId = await cancelledMidway()
  const shutdown = new AbortController()
  const stopping: Storage = {
    ...fixture.storage,
    async writeStream(key, content, type, options) {
      shutdown.abort()
      await fixture.storage.writeStream(key, content, type, options)
    },
  }
  expect(await reportCancelled({ ...fixture.context, storage: stopping, shutdown: shutdown.signal })).toEqual([])
  expect(await reportCancelled(fixture.context)).toHaveLength(1)
  expect((await resultOf(fixture, appId, importId)).errorFile).toBeDefined()
})
