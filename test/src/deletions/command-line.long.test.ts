import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, openApp } from '../stack/client.ts'
import { type RunningStack, startStack } from '../stack/running-stack.ts'

// `sluice deletions list`, `sluice deletions run` and `sluice users show` on a stack as `npm start` runs it.
// command-line.test.ts runs them in this process.
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

async function listed({ appId }: App): Promise<Record<string, string>> {
  const { json } = await stack.sluice('deletions', '--app', String(appId))
  return (json as Record<string, string>[])[0] ?? {}
}

test('an operator can rehearse a request to its end: listed, started, completed, mailed', async () => {
  const app = await openApp(stack, ['alice', 'bob'])
  const show = (user: string) => stack.sluice('user', 'show', '--app', String(app.appId), user)
  await ask(app, ['alice', 'nobody'])
  const request = await listed(app)
  expect(request).toEqual({
    request_id: expect.any(String),
    state: 'accepted',
    token_last_four: app.token.slice(-4),
    accepted_at: expect.any(String),
    starts_at: expect.any(String),
    completes_at: expect.stringMatching(/-06T15:00:00.000Z$/),
    started_at: null,
    completed_at: null,
    users_requested: 2,
    users_deleted: 0,
    values_deleted: 0,
  })
  const { accepted_at = '', starts_at = '', completes_at = '' } = request
  const dates = { accepted_at, starts_at, completes_at }
  expect((await show('alice')).json).toMatchObject({ campaign_target: true, deletion: { state: 'accepted', ...dates } })
  expect((await show('bob')).json).toMatchObject({ campaign_target: true, deletion: null })

  const run = (now: string) => stack.sluice('deletions', 'run', '--now', now)
  const nothing = { started: 0, completed: 0, users_deleted: 0, mails: 0 }
  expect(await stack.sluice('deletions', 'run')).toEqual({ code: 0, json: nothing, stderr: '' })
  expect((await run(starts_at)).json).toEqual({ ...nothing, started: 1 })
  expect((await show('alice')).json).toMatchObject({ campaign_target: false, deletion: { state: 'started', ...dates } })

  expect(await run(completes_at)).toEqual({
    code: 0,
    json: { started: 0, completed: 1, users_deleted: 1, mails: 1 },
    stderr: '',
  })
  expect((await show('alice')).code).toBe(1)
  expect((await show('bob')).code).toBe(0)
  expect(await listed(app)).toMatchObject({ state: 'completed', users_deleted: 1, completed_at: completes_at })
  const [mail] = await until('the mail', async () => {
    const mails = await stack.mailsTo(app.email)
    return mails.length > 0 && mails
  })
  expect(mail?.subject).toBe('User deletion completed: 1 user deleted')
  expect(mail?.text).not.toContain('alice')
})

test('a run removes files from the storage of the stack', async () => {
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
})
