import { sql } from '@sluice/database'
import {
  cancelImport,
  RetryRefused,
  removeOldFiles,
  reportCancelled,
  retryImport,
  runImport,
  showImport,
  sweepFiles,
} from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import { beforeEach, expect, test } from 'vitest'
import { losingCommitAfter } from '../database/lost-commit.ts'
import {
  claim,
  type ImportFixture,
  importFile,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
} from '../imports/import-fixture.ts'

// A failed or cancelled import is imported again (docs/operations.md, Retrying and finding imports).
let fixture: ImportFixture
let appId = 0
const noShutdown = new AbortController().signal
const file = 'user_id,age\nalice,1\nbob,2\n'

beforeEach(async () => {
  fixture = await openImportFixture()
  appId = await openApp(fixture, ['alice', 'bob'])
  return () => fixture.close()
})

const retry = (importId: string) => retryImport(fixture.context, { appId, importId })
const show = (importId: string) => showImport(fixture.context.db, undefined, importId, appId)
async function run(importId: string) {
  await runImport(fixture.context, await claim(fixture, appId, importId), noShutdown)
  return await show(importId)
}

/** Queues an import, cancels it, and makes its report as maintenance does. */
async function cancelled(content = file, dryRun = false): Promise<string> {
  const importId = await queueFile(fixture, appId, content, 'text/csv', dryRun)
  await cancelImport(fixture.context.db, importId)
  await reportCancelled(fixture.context)
  return importId
}

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
  // The retry of a retry has a file of its own, too.
  expect(await run(await retry(retryId))).toMatchObject({ retry_of: retryId, error: expect.stringContaining('$a') })
})

test('a retry keeps the declared types and the clear marker', async () => {
  const options = { profileTypes: { zip: 'string' }, clearMarker: '#' } as const
  const importId = await queueFile(fixture, appId, 'user_id,zip\nalice,007\nbob,#\n', 'text/csv', false, options)
  await cancelImport(fixture.context.db, importId)
  await reportCancelled(fixture.context)
  expect(await run(await retry(importId))).toMatchObject({ state: 'completed', types: { zip: 'string' } })
  expect(await profilesOf(fixture, appId)).toEqual({ alice: { zip: '007' }, bob: {} })
})

test('the retry has a file of its own: it runs after the files of the first import are removed', async () => {
  const importId = await cancelled()
  const retryId = await retry(importId)
  await sql`update imports set finished_at = now() - interval '99 days' where import_id = ${importId}`.execute(
    fixture.context.db,
  )
  expect(await removeOldFiles(fixture.context)).toBe(1)
  expect(await run(retryId)).toMatchObject({ state: 'completed', rows_applied: 2 })
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
  await sql`update imports set state = 'expired' where import_id = ${expired}`.execute(db)
  await expect(retry(expired)).rejects.toThrow('no longer stored')
  const removed = await cancelled()
  await fixture.storage.removeAll(`apps/${appId}/imports/${removed}/`)
  await expect(retry(removed)).rejects.toThrow('no longer stored')
  await sql`update imports set files_removed_at = now() where import_id = ${removed}`.execute(db)
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
  await sql`update imports set data_order = 0 where import_id = ${later}`.execute(db)
  await expect(retry(later)).rejects.toThrow('no longer stored')
})

test('a refused retry leaves neither a copy nor an import, and a sweep removes what a crash leaves', async () => {
  const strict = await openImportFixture({ WAITING_IMPORTS_LIMIT: '1' })
  try {
    const app = await openApp(strict)
    const importId = await queueFile(strict, app, file)
    await cancelImport(strict.context.db, importId)
    await queueFile(strict, app, file)
    await expect(retryImport(strict.context, { appId: app, importId })).rejects.toThrow('wait already')
    const sweeps = await strict.context.db.selectFrom('file_sweeps').selectAll().execute()
    expect(sweeps).toHaveLength(1)
    const copy = `apps/${app}/imports/${sweeps[0]?.import_id}/upload`
    expect(await strict.storage.stat(copy)).toBeUndefined()
    // As if the process had died between copy and import.
    await strict.storage.write(copy, Buffer.from(file), 'text/csv')
    await sql`update file_sweeps set due_at = now()`.execute(strict.context.db)
    expect(await sweepFiles(strict.context)).toBe(1)
    expect(await strict.storage.stat(copy)).toBeUndefined()
    expect(await strict.context.db.selectFrom('imports').selectAll().execute()).toHaveLength(2)
  } finally {
    await strict.close()
  }
})

test('a retry whose commit succeeded keeps its file, although the answer was lost', async () => {
  const importId = await cancelled()
  const db = await losingCommitAfter(fixture.database.url, 'insert into "imports"')
  await expect(retryImport({ ...fixture.context, db }, { appId, importId })).rejects.toThrow()
  const queued = await fixture.context.db
    .selectFrom('imports')
    .select('import_id')
    .where('retry_of', '=', importId)
    .executeTakeFirstOrThrow()
  expect(await run(queued.import_id)).toMatchObject({ state: 'completed', rows_applied: 2 })
})
