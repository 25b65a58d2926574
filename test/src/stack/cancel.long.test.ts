import assert from 'node:assert/strict'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, bulkImport, download, ended, openApp, statusOf, upload } from './client.ts'
import { largeFileInMemory, userIds } from './large-file.ts'
import { signal } from './processes.ts'
import { type RunningStack, startStack } from './running-stack.ts'
import { importLog, lastClaim } from './worker-log.ts'

// Cancelling with real processes: the next import starts at once, even if the worker is dead.
let stack: RunningStack
let file: Buffer
const users = 20_000
const rows = 200_000
const batchRows = 1_000
const next = Buffer.from('user_id,mark\nuser-0,7\n')

beforeAll(async () => {
  // If cancelling did not end a dead worker's import, the next import would wait for this lease.
  stack = await startStack({ workers: 2, env: { IMPORT_LEASE: '60s', BATCH_ROWS: String(batchRows) } })
  ;({ file } = largeFileInMemory({ rows, users }))
}, 60_000)

afterAll(() => stack.stop())

async function cancel({ token }: App, importId: string): Promise<void> {
  const init = { method: 'DELETE', headers: { 'X-Service-Token': token } }
  const response = await fetch(`${stack.api}${bulkImport}/${importId}`, init)
  assert.equal(response.status, 200)
}

/** Starts an import and a following import. Waits until the first import has committed some batches. */
async function runningImport(): Promise<{ app: App; importId: string; following: string }> {
  const app = await openApp(stack, [...userIds(users)])
  const importId = await upload(stack.api, app.token, file)
  const following = await upload(stack.api, app.token, next)
  await until('some batches', async () => (await statusOf(stack.api, app.token, importId)).rows_failed > 0)
  return { app, importId, following }
}

/** Expects the results that are the same for every import that is cancelled while it runs. */
async function expectCancelled(app: App, importId: string): Promise<void> {
  const cut = await until('the error file', async () => {
    const view = await statusOf(stack.api, app.token, importId)
    return view.error_file_url !== null && view
  })
  expect(cut.state).toBe('cancelled')
  expect(cut.rows_total).toBeLessThan(rows)
  expect(cut.rows_applied + cut.rows_failed).toBe(cut.rows_total)
  const records: unknown[] = parse(await download(cut.error_file_url ?? ''))
  expect(records).toHaveLength(1 + cut.rows_failed)
  const mails = await until('the mail', async () => {
    const found = (await stack.mailsTo(app.email)).filter(({ text }) => text.includes(importId))
    return found.length > 0 && found
  })
  expect(mails).toHaveLength(1)
  expect(mails[0]?.text).toContain(`stay applied: ${cut.rows_applied.toLocaleString('en-US')}.`)
}

test('cancelling a running import ends it between batches, and the following import runs', async () => {
  const { app, importId, following } = await runningImport()
  await cancel(app, importId)
  expect((await ended(stack.api, app.token, following)).state).toBe('completed')
  await expectCancelled(app, importId)
  await until('the worker to notice the cancellation', async () =>
    (await importLog(stack.home, importId)).some(({ msg }) => msg === 'import cancelled'),
  )
}, 120_000)

test('cancelling an import whose worker was killed ends it without waiting for its lease', async () => {
  const { app, importId, following } = await runningImport()
  const claim = (await lastClaim(stack.home, importId)) ?? expect.fail('nobody has claimed the import')
  signal(claim.pid, 'SIGKILL')
  const started = performance.now()
  await cancel(app, importId)
  expect((await ended(stack.api, app.token, following, 30_000)).state).toBe('completed')
  expect(performance.now() - started).toBeLessThan(30_000)
  await expectCancelled(app, importId)
}, 120_000)
