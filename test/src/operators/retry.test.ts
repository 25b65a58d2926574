import { sql } from '@sluice/database'
import {
  cancelImport,
  RetryRefused,
  removeFilesOfApp,
  removeOldFiles,
  reportCancelled,
  retryImport,
  runImport,
  showImport,
} from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { changeImport, endDaysAgo } from '../imports/forced-states.ts'
import { claim, importFile, openApp, openImportFixture, profilesOf, queueFile } from '../imports/import-fixture.ts'

// A failed or cancelled import is imported again (docs/operations.md, Retrying and finding imports).
const fixture = openBeforeEach(openImportFixture)
let appId = 0
const noShutdown = new AbortController().signal
const file = 'user_id,age\nalice,1\nbob,2\n'

beforeEach(async () => {
  appId = await openApp(fixture, ['alice', 'bob'])
})

const retry = (importId: string) => retryImport(fixture.context, { appId, importId })
const show = (importId: string) => showImport(fixture.context.db, undefined, { appId, importId })
async function run(importId: string) {
  await runImport(fixture.context, await claim(fixture, appId, importId), noShutdown)
  return await show(importId)
}

/** Queues an import, cancels it, and makes its report as maintenance does. */
async function cancelled(content = file, dryRun = false): Promise<string> {
  const importId = await queueFile(fixture, appId, content, 'text/csv', dryRun)
  await cancelImport(fixture.context.db, { appId, importId })
  await reportCancelled(fixture.context)
  return importId
}

// second-day.md §6, Retry.
test('a cancelled import is retried as a new import of the same file, after all that wait', async () => {
  const importId = await cancelled()
  const waiting = await queueFile(fixture, appId, 'user_id,age\nalice,7\n')
  const retryId = await retry(importId)
  expect(await show(retryId)).toMatchObject({ state: 'queued', retry_of: importId, source: 'v3', rows_total: 0 })
  expect(await show(importId)).toMatchObject({ state: 'cancelled' })
  expect(await show(importId)).not.toHaveProperty('retry_of')
  await expect(claim(fixture, appId, retryId)).rejects.toThrow('cannot be claimed')
  await run(waiting)
  expect(await run(retryId)).toMatchObject({ state: 'completed', rows_applied: 2 })
  expect(await profilesOf(fixture, appId)).toEqual({ alice: { age: 1 }, bob: { age: 2 } })
})

test('a failed import is retried with its options', async () => {
  const importId = await queueFile(fixture, appId, '$a,user_id\n1,alice\n', 'text/csv', true)
  expect(await run(importId)).toMatchObject({ state: 'failed', dry_run: true })
  const retryId = await retry(importId)
  expect(await run(retryId)).toMatchObject({ state: 'failed', dry_run: true, retry_of: importId })
  expect(await run(await retry(retryId))).toMatchObject({ retry_of: retryId, error: expect.stringContaining('$a') })
})

test('a retry keeps the declared types and the clear marker', async () => {
  const options = { profileTypes: { zip: 'string' }, clearMarker: '#' } as const
  const importId = await queueFile(fixture, appId, 'user_id,zip\nalice,007\nbob,#\n', 'text/csv', false, options)
  await cancelImport(fixture.context.db, { appId, importId })
  await reportCancelled(fixture.context)
  expect(await run(await retry(importId))).toMatchObject({ state: 'completed', types: { zip: 'string' } })
  expect(await profilesOf(fixture, appId)).toEqual({ alice: { zip: '007' }, bob: {} })
})

test('both imports share the file: nothing is written, and it stays until the retry needs it no longer', async () => {
  const { db } = fixture.context
  const importId = await cancelled()
  const retryId = await retry(importId)
  const stored = `apps/${appId}/imports/${importId}/upload`
  expect(await fixture.storage.stat(`apps/${appId}/imports/${retryId}/upload`)).toBeUndefined()
  await endDaysAgo(db, importId, 99)
  expect(await removeOldFiles(fixture.context)).toBe(0)
  expect(await run(retryId)).toMatchObject({ state: 'completed', rows_applied: 2 })
  expect(await removeOldFiles(fixture.context)).toBe(0)
  expect(await fixture.storage.stat(stored)).toBeDefined()
  await endDaysAgo(db, retryId, 99)
  while ((await removeOldFiles(fixture.context)) > 0);
  expect(await fixture.storage.stat(stored)).toBeUndefined()
})

test('a file that is shared by imports that have ended is removed with them when a deletion completes', async () => {
  const importId = await cancelled('$a,user_id\n1,alice\n')
  const retryId = await retry(importId)
  await run(retryId)
  const running = await retry(retryId)
  expect(await removeFilesOfApp(fixture.context, appId)).toBe(0)
  expect(await fixture.storage.stat(`apps/${appId}/imports/${importId}/upload`)).toBeDefined()
  await run(running)
  expect(await removeFilesOfApp(fixture.context, appId)).toBe(0)
  expect(await fixture.storage.stat(`apps/${appId}/imports/${importId}/upload`)).toBeUndefined()
})

test('a file is retried 20 times at most, those of its retries included', async () => {
  let last = await queueFile(fixture, appId, '$a,user_id\n1,alice\n')
  await run(last)
  for (let count = 0; count < 20; count++) {
    last = await retry(last)
    await run(last)
  }
  await expect(retry(last)).rejects.toThrow('has been retried 20 times')
})

test('what completed, runs, waits, expired or is no longer stored is not retried, and neither is anything twice at once', async () => {
  const { db } = fixture.context
  const { view: completed } = await importFile(fixture, appId, 'user_id,age\nalice,1\nbob,x\nbob,2\n')
  await expect(retry(completed.import_id)).rejects.toThrow('correct its error file')
  const waiting = await queueFile(fixture, appId, file)
  await expect(retry(waiting)).rejects.toThrow('it has not ended')
  await expect(retry(crypto.randomUUID())).rejects.toThrow('there is no such import')
  const importId = await cancelled()
  const retryId = await retry(importId)
  await expect(retry(importId)).rejects.toThrow(`as ${retryId}`)
  const expired = await cancelled()
  await changeImport(db, expired, { state: 'expired' })
  await expect(retry(expired)).rejects.toThrow('no longer stored')
  const removed = await cancelled()
  await fixture.storage.removeAll(`apps/${appId}/imports/${removed}/`)
  await expect(retry(removed)).rejects.toThrow('no longer stored')
  await changeImport(db, removed, { files_removed_at: new Date() })
  await expect(retry(removed)).rejects.toThrow(RetryRefused)
})

test('users who were deleted since the first import get nothing from its retry, even if they are registered anew', async () => {
  const { db } = fixture.context
  const importId = await cancelled()
  const retryId = await retry(importId)
  await sql`
    insert into recently_deleted_users (app_id, user_hash, deleted_at)
    select app_id, sha256(user_hash_salt || convert_to('alice', 'utf8')), now() from apps where app_id = ${appId}
  `.execute(db)
  await registerUsers(db, appId, ['alice'])
  expect(await run(retryId)).toMatchObject({ state: 'completed' })
  expect(await profilesOf(fixture, appId)).toEqual({ alice: {}, bob: { age: 2 } })
  const later = await cancelled()
  await changeImport(db, later, { data_order: 0 })
  await expect(retry(later)).rejects.toThrow('no longer stored')
})

test('a refused retry leaves no import', async () => {
  const strict = await openImportFixture({ WAITING_IMPORTS_LIMIT: '1' })
  try {
    const app = await openApp(strict)
    const importId = await queueFile(strict, app, file)
    await cancelImport(strict.context.db, { appId, importId })
    await queueFile(strict, app, file)
    await expect(retryImport(strict.context, { appId: app, importId })).rejects.toThrow('wait already')
    expect(await strict.context.db.selectFrom('imports').selectAll().execute()).toHaveLength(2)
  } finally {
    await strict.close()
  }
})
