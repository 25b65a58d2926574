import { runImport } from '@sluice/imports'
import { beforeAll, expect, test } from 'vitest'
import {
  claim,
  type ImportFixture,
  openApp,
  openImportFixture,
  queueFile,
  resultOf,
} from '../imports/import-fixture.ts'
import { slowReads } from '../imports/slow-storage.ts'

// An import whose batches are of this release and of the one before, which kept finished lines.
let fixture: ImportFixture
beforeAll(async () => {
  fixture = await openImportFixture({ BATCH_ROWS: '5', INFERENCE_ROWS: '5' })
  return () => fixture.close()
})

const rows = Array.from({ length: 40 }, (_, row) => `ghost${row},${row}\n`)
const lines = rows.map((row) => `user_id is unregistered user,${row}`)

test('finished lines stand in the error file as they are, and the release that kept them cannot end an import that has others', async () => {
  const { db } = fixture.database
  const appId = await openApp(fixture)
  const importId = await queueFile(fixture, appId, `user_id,n\n${rows.join('')}`)
  const shutdown = new AbortController()
  const storage = slowReads(fixture.storage, 16, (at) => {
    if (at > 200) shutdown.abort()
  })
  const context = { ...fixture.context, storage, shutdown: shutdown.signal }
  await runImport(context, await claim(fixture, appId, importId), shutdown.signal)
  const first = await db
    .selectFrom('import_error_chunks')
    .select(['position', 'bytes'])
    .where('import_id', '=', importId)
    .orderBy('position')
    .executeTakeFirstOrThrow()
  expect(first.bytes).toBe(lines.slice(0, 5).join('').length)

  const ended = { state: 'completed', error_file_key: 'short form as it is' } as const
  const end = db.updateTable('imports').set(ended).where('import_id', '=', importId).execute()
  await expect(end).rejects.toThrow('imports_error_bytes_settled')

  const asLines = { content: Buffer.from(lines.slice(0, 5).join('')), starts_at: null, bytes: null }
  await db
    .updateTable('import_error_chunks')
    .set(asLines)
    .where('import_id', '=', importId)
    .where('position', '=', first.position)
    .execute()
  await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
  const { view, errorFile } = await resultOf(fixture, appId, importId)
  expect(view).toMatchObject({ state: 'completed', rows_failed: 40 })
  expect(errorFile?.toString()).toBe(`SERVICE_ERRORS,user_id,n\n${lines.join('')}`)
})
