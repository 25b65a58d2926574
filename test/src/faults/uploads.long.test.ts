import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import type { RequestedImport } from '../stack/client.ts'
import { type ClientApp, openClientApp, request, send, upload } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { type Deployment, startDeployment } from './harness/deployment.ts'
import { type GeneratedFile, generateSoundFile } from './harness/generate.ts'
import { claimant, slowBatches, untilRows, untilState } from './harness/import-states.ts'
import { appliedOrder, recordedHistory } from './harness/watcher.ts'

// Uploads that break off, come late, twice or never. ../stack/upload-refusals.test.ts covers uploads that storage
// refuses.
let deployment: Deployment
let app: ClientApp
const random = seeded(11)

beforeAll(async () => {
  deployment = await startDeployment({ workers: 2, orderWaitMs: 2_000 })
})

beforeEach(async () => {
  app = await openClientApp(deployment)
})

afterAll(() => deployment.close())

async function requestFile(number: number): Promise<{ file: GeneratedFile; requested: RequestedImport }> {
  const file = generateSoundFile(random, number, 500)
  return { file, requested: await request(deployment, app, file) }
}

/** Moves the upload window into the past, as if the first request had been made long ago. */
async function endWindow(importId: string): Promise<void> {
  await deployment.db
    .updateTable('imports')
    .set({ upload_expires_at: new Date(Date.now() - 120_000) })
    .where('import_id', '=', importId)
    .execute()
}

async function expectNoViolations(): Promise<void> {
  expect((await compareWithModel(deployment, [app])).violations).toEqual([])
}

/** Waits for the ends of the imports, which must have run in this order, as the model does. */
async function expectOrder(...importIds: string[]): Promise<void> {
  await expectNoViolations()
  const order = appliedOrder(await recordedHistory(deployment.db, deployment.orderWaitMs))
  expect(order.get(app.appId)).toEqual(importIds)
}

test('an upload that breaks off repeatedly leaves no trace, and succeeds when it is complete', async () => {
  const { file, requested } = await requestFile(1)
  const { url, headers } = requested
  const { port, pathname, search, host } = new URL(url)
  for (const share of [0, 0.5, 0.99]) {
    const socket = connect(Number(port), '127.0.0.1')
    const lines = [`PUT ${pathname}${search} HTTP/1.1`, `Host: ${host}`, `Content-Length: ${file.bytes.length}`]
    lines.push(...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', '')
    socket.write(lines.join('\r\n'))
    const part = file.bytes.subarray(0, share * file.bytes.length)
    await new Promise<void>((resolve) => void socket.write(part, () => resolve()))
    socket.resetAndDestroy()
  }
  const other = await upload(deployment, app, generateSoundFile(random, 2, 100))
  // The later import ran first. If storage had accepted a partial file, the earlier import would have run before it.
  await untilState(deployment, other, 'completed')
  await untilState(deployment, requested.importId, 'awaiting_upload')
  await send(app, requested, file)
  await expectNoViolations()
})

test('an upload that is repeated is applied once, even if it is repeated during the import', async () => {
  const { file, requested } = await requestFile(1)
  await slowBatches(deployment.db, 100)
  await send(app, requested, file)
  await send(app, requested, file)
  await untilRows(deployment, requested.importId, 1)
  await send(app, requested, file)
  await slowBatches(deployment.db, 0)
  await untilState(deployment, requested.importId, 'completed')
  await send(app, requested, file)
  await expectNoViolations()
})

test('an upload that comes after its import has expired is applied after the imports that have overtaken it', async () => {
  const { file, requested } = await requestFile(1)
  await endWindow(requested.importId)
  await untilState(deployment, requested.importId, 'expired')
  const later = await upload(deployment, app, generateSoundFile(random, 2, 200))
  await untilState(deployment, later, 'completed')
  await send(app, requested, file)
  await expectOrder(later, requested.importId)
})

test('an upload that comes while a later import runs waits for the end of that import, even if workers are replaced', async () => {
  const { file, requested } = await requestFile(1)
  await slowBatches(deployment.db, 100)
  const later = await upload(deployment, app, generateSoundFile(random, 2, 3_000))
  await untilRows(deployment, later, 200)
  await send(app, requested, file)
  await untilState(deployment, requested.importId, 'queued')
  for (const worker of deployment.workers()) worker.kill('SIGTERM')
  await claimant(deployment, later, 2)
  await slowBatches(deployment.db, 0)
  await expectOrder(later, requested.importId)
})

test('first requests that are never used expire without a mail, and delay other imports by no more than the wait', async () => {
  const unused = await Promise.all([1, 2, 3].map(requestFile))
  const started = performance.now()
  const importId = await upload(deployment, app, generateSoundFile(random, 4, 200))
  await untilState(deployment, importId, 'completed')
  expect(performance.now() - started).toBeLessThan(deployment.orderWaitMs + 8_000)
  for (const { requested } of unused) await endWindow(requested.importId)
  for (const { requested } of unused) await untilState(deployment, requested.importId, 'expired')
  // The comparison checks the mails of the import that ran. The app must have no other mails.
  await expectNoViolations()
  const mails = await deployment.db.selectFrom('mails').select('event').where('app_id', '=', app.appId).execute()
  expect(new Set(mails.map(({ event }) => event))).toEqual(new Set([`import:${importId}`]))
})
