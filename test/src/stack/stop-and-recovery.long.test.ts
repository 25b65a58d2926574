import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, ended, openApp, statusOf, upload } from './client.ts'
import { largeFileInMemory, userIds } from './large-file.ts'
import { type RunningStack, type StackOptions, spawnStack, startStack } from './running-stack.ts'

const users = 20_000
const rows = 60_000
const shortLease = { env: { IMPORT_LEASE: '2s' } }

test('a second start on the same folder fails with a clear message, and the first stack keeps running', async () => {
  const stack = await start()
  const second = spawnStack(stack.home)
  if (second.stderr === null) expect.fail('no stderr')
  const [[code], words] = await Promise.all([once(second, 'exit'), text(second.stderr)])
  expect(code).toBe(1)
  const { pid } = await stack.info()
  expect(words).toContain(`Sluice already runs on ${stack.home} (process ${pid}): API ${stack.api}`)
  await openApp(stack)
  expect((await fetch(`${stack.api}/readyz`)).status).toBe(200)
})

test('a stop releases the running import, and the next start completes it with exact totals', async () => {
  const stack = await start()
  const { app, importId, expected } = await startImport(stack)
  // Throws unless the exit code is 0 and no process is left.
  await stack.terminate()

  const next = await start({ home: stack.home })
  const { requested_at: requestedAt } = await statusOf(next.api, app.token, importId)
  expect(await ended(next.api, app.token, importId)).toMatchObject({ ...expected, requested_at: requestedAt })
  await expectOneMail(next, app)
})

test('after SIGKILL of the supervisor, the apps and Postgres, the next start recovers without help', async () => {
  const stack = await start(shortLease)
  const { app, importId, expected } = await startImport(stack)
  await stack.crash()

  const next = await start({ ...shortLease, home: stack.home })
  expect(await ended(next.api, app.token, importId)).toMatchObject(expected)
  await expectOneMail(next, app)
  const { json } = await next.sluice('imports', '--app', String(app.appId))
  expect(json).toHaveLength(1)
  // The stack also accepts new imports.
  const second = await upload(next.api, app.token, Buffer.from('user_id,plan\ncustomer-0000001,pro\n'))
  expect(await ended(next.api, app.token, second)).toMatchObject({ state: 'completed', rows_applied: 1 })
})

async function start(options?: StackOptions): Promise<RunningStack> {
  const stack = await startStack(options)
  onTestFinished(() => stack.stop())
  return stack
}

/** Starts an import, and waits until some rows are committed. Returns it with its expected result. */
async function startImport(stack: RunningStack): Promise<{ app: App; importId: string; expected: object }> {
  const app = await openApp(stack, [...userIds(users)])
  const { file, counts } = largeFileInMemory({ rows, users })
  const importId = await upload(stack.api, app.token, file)
  await until('the first committed rows', async () => {
    const { rows_total: total } = await statusOf(stack.api, app.token, importId)
    return total > 0
  })
  expect((await statusOf(stack.api, app.token, importId)).state).toBe('processing')
  const expected = {
    state: 'completed',
    rows_total: rows,
    rows_applied: rows - counts.invalid,
    rows_failed: counts.invalid,
  }
  return { app, importId, expected }
}

async function expectOneMail(stack: RunningStack, { email }: App): Promise<void> {
  const mails = await until('the mail', async () => {
    const found = await stack.mailsTo(email)
    return found.length > 0 && found
  })
  expect(mails).toHaveLength(1)
}
