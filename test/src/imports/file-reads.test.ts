import { runImport } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { claim, importFile, openApp, openImportFixture, queueFile } from './import-fixture.ts'

// How often an import opens its file: a first run reads the beginning several times, a later run starts at its
// position.
const fixture = openBeforeEach(() => openImportFixture({ BATCH_ROWS: '10', INFERENCE_ROWS: '5' }))
let appId: number
const rows = Array.from({ length: 40 }, (_, index) => `u1,${index}\n`).join('')

beforeEach(async () => {
  appId = await openApp(fixture, ['u1'])
})

/** Runs an import until its end or until `shutdown`. Returns the byte at which each read of the file began. */
async function readsOf(importId: string, shutdown?: AbortController): Promise<number[]> {
  const offsets: number[] = []
  const storage: Storage = {
    ...fixture.storage,
    async read(key, options) {
      offsets.push(options?.from ?? 0)
      return await fixture.storage.read(key, options)
    },
  }
  const context = { ...fixture.context, storage, onBatch: () => shutdown?.abort() }
  await runImport(context, await claim(fixture, appId, importId), shutdown?.signal ?? new AbortController().signal)
  return offsets
}

test('a file with a new key is opened for its header, for the types of new keys, and for its rows', async () => {
  expect(await readsOf(await queueFile(fixture, appId, `user_id,n\n${rows}`))).toEqual([0, 10, 10])
})

test('a file whose keys are all registered is opened for its header and for its rows', async () => {
  await importFile(fixture, appId, 'user_id,n\nu1,1\n')
  expect(await readsOf(await queueFile(fixture, appId, `user_id,n\n${rows}`))).toEqual([0, 10])
})

test('an import that continues opens its file once, at its position', async () => {
  const importId = await queueFile(fixture, appId, `user_id,n\n${rows}`)
  await readsOf(importId, new AbortController())
  const { position } = await fixture.database.db
    .selectFrom('imports')
    .select('position')
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
  expect(position).toBeGreaterThan(10)
  expect(await readsOf(importId)).toEqual([position])
})
