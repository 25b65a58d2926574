import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import type { RequestedImport } from '../stack/client.ts'
import { type ClientApp, openClientApp, request, send, upload } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { type Deployment, startDeployment } from './harness/deployment.ts'
import { type GeneratedFile, generateSoundFile } from './harness/generate.ts'
import { slowBatches, untilLogged, untilRows, untilState } from './harness/import-states.ts'
import { mountSmallDisk, type SmallDisk } from './harness/small-disk.ts'

// Storage loses, alters or refuses an object, or stops answering.
let disk: SmallDisk | undefined
let deployment: Deployment
let app: ClientApp
const random = seeded(8)

beforeAll(async () => {
  disk = await mountSmallDisk(16 * 2 ** 20)
  deployment = await startDeployment({ workers: 1, ...(disk && { storageFolder: disk.path }) })
  return async () => {
    await deployment.close()
    await disk?.remove()
  }
})

beforeEach(async () => {
  app = await openClientApp(deployment)
})

afterEach(async () => {
  deployment.storageFaults.set(undefined)
  await disk?.empty()
  await slowBatches(deployment.db, 0)
  expect((await compareWithModel(deployment, [app])).violations).toEqual([])
})

/**
 * Uploads a file whose import waits for a preceding import, so that the stored object can be changed before it is read.
 */
async function uploadWaitingFile(
  refusal: string,
): Promise<{ file: GeneratedFile; requested: RequestedImport; key: string }> {
  await slowBatches(deployment.db, 100)
  const first = await upload(deployment, app, generateSoundFile(random, 0, 1_000))
  await untilRows(deployment, first, 1)
  const file = { ...plainFile(1, 400), refusal }
  const requested = await request(deployment, app, file)
  await send(app, requested, file)
  await untilState(deployment, requested.importId, 'queued')
  return { file, requested, key: `apps/${app.appId}/imports/${requested.importId}/upload` }
}

/** Generates an uncompressed file, whose content can be changed without changing its size. */
function plainFile(number: number, rows: number): GeneratedFile {
  const file = generateSoundFile(random, number, rows)
  return file.contentType === 'text/csv' ? file : plainFile(number, rows)
}

test('an object that was replaced by an object of equal size fails its import, and no row is applied', async () => {
  const { file, requested, key } = await uploadWaitingFile('the uploaded file was replaced')
  const other = Buffer.from(file.bytes)
  other.set(Buffer.from('9'), other.length - 2)
  await deployment.storage.write(key, other, file.contentType)
  await slowBatches(deployment.db, 0)
  await untilState(deployment, requested.importId, 'failed')
})

test('an object that vanished fails its import', async () => {
  const { requested, key } = await uploadWaitingFile('the uploaded file is gone')
  await deployment.storage.removeAll(key)
  await slowBatches(deployment.db, 0)
  await untilState(deployment, requested.importId, 'failed')
})

test('a read from storage that stops halfway through a file times out, and is tried again', async () => {
  let reads = 0
  deployment.storageFaults.set(({ method, path }) => {
    const isThird = method === 'GET' && path.includes('/upload') && ++reads === 3
    return isThird ? { kind: 'stalled answer', afterBytes: 20_000 } : undefined
  })
  const importId = await upload(deployment, app, plainFile(0, 3_000))
  const postponed = await untilLogged(deployment, importId, 'import postponed')
  expect(postponed?.err?.message).toBe('storage did not respond for 20000 ms')
  await untilState(deployment, importId, 'completed')
})

test('an import waits while the disk of storage has no space for its error file, and completes when there is space', async (context) => {
  if (disk === undefined) return context.skip()
  await slowBatches(deployment.db, 100)
  const importId = await upload(deployment, app, plainFile(0, 500))
  await untilRows(deployment, importId, 1)
  await disk.fill()
  await slowBatches(deployment.db, 0)
  const postponed = await untilLogged(deployment, importId, 'import postponed', 2)
  expect(postponed).toMatchObject({ err: { type: 'StorageFull' }, counts: false })
  await disk.empty()
  await untilState(deployment, importId, 'completed')
}, 90_000)
