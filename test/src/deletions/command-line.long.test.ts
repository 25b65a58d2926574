import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, openApp } from '../stack/client.ts'
import { type RunningStack, startStack } from '../stack/running-stack.ts'

// `sluice deletions run` on a stack as `npm start` runs it. command-line.test.ts runs it in this process.
let stack: RunningStack
beforeAll(async () => {
  stack = await startStack({ env: { SERVICE_TIMEZONE: 'Asia/Tokyo' } })
})
afterAll(() => stack.stop())

async function ask({ token }: App, userIds: string[]): Promise<void> {
  const answer = await fetch(`${stack.api}/v3/user_data_deletions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Service-Token': token },
    body: JSON.stringify({ identity_type: 'user_id', identity_value: userIds }),
  })
  expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 202, body: { status: 'accepted' } })
}

test('a run removes files from the storage of the stack, and the mail names no user', async () => {
  const app = await openApp(stack, ['alice'])
  const file = 'user_id,name\nalice,Alice\nghost,Ghost\n'
  const answer = await fetch(`${stack.api}/v2/user_profiles/bulk_import`, {
    method: 'POST',
    headers: { 'Content-Type': 'text/csv', 'X-Service-Token': app.token },
    body: file,
  })
  expect(answer.status).toBe(202)
  await until('the import', async () => {
    const { json } = await stack.sluice('imports', '--app', String(app.appId))
    return (json as { state: string }[])[0]?.state === 'completed'
  })
  const stored = async () => (await readdir(join(stack.home, 'storage'), { recursive: true })).join('\n')
  expect(await stored()).toContain('errors-1.csv')
  await ask(app, ['alice'])
  const { code } = await stack.sluice('deletions', 'run', '--now', '2100-01-01')
  expect(code).toBe(0)
  expect(await stored()).not.toMatch(/upload$|errors/m)
  const mail = await until('the mail', async () =>
    (await stack.mailsTo(app.email)).find(({ subject }) => subject === 'User deletion completed: 1 user deleted'),
  )
  expect(mail.text).not.toContain('alice')
})
