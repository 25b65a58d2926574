import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { queueNames } from '@sluice/config'
import { beforeAll, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { until } from '../environment/wait.ts'
import { openVisitor } from './visitor.ts'

const stack = openBeforeAll(openSharedStack)
let url: string
beforeAll(async () => {
  const { dashboard } = await stack.info()
  assert(dashboard)
  url = dashboard
})

/** Returns the link that `sluice dashboard link` prints. */
async function link(email: string): Promise<{ url: string; expires_at: string }> {
  const { code, json, stderr } = await stack.sluice('dashboard', 'link', '--email', email)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return json as { url: string; expires_at: string }
}

test('npm start runs the dashboard, and stack.json names it', async () => {
  const { processes } = await stack.info()
  expect(processes.dashboard).toHaveLength(1)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
})

test('a new operator signs in with a printed link and sees the worker, and no secret is logged', async () => {
  const added = await stack.sluice('operator', 'add', '--email', 'Boss@example.com')
  expect(added.json).toEqual({ email: 'Boss@example.com', added: true })
  const { url: address, expires_at } = await link('boss@example.com')
  expect(address.startsWith(`${url}/sign-in/`)).toBe(true)
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now())
  const visitor = openVisitor({ url })
  const answer = await visitor.post(address)
  expect(answer.status).toBe(303)
  await until('a live worker', async () => {
    const { text } = await visitor.get('/queues')
    return /alive<\/span>/.test(text) && text.includes(queueNames.join(', '))
  })

  expect((await stack.sluice('operator', 'remove', '--email', 'BOSS@example.com')).json).toMatchObject({
    removed: true,
  })
  expect((await visitor.get('/queues')).headers.get('location')).toBe('/sign-in?return=%2Fqueues')
  expect((await stack.sluice('operator', 'remove', '--email', 'boss@example.com')).code).toBe(1)

  const session = /sluice_session=([\w-]+)/.exec(answer.headers.getSetCookie().join())?.[1]
  const log = await readFile(join(stack.home, 'logs/dashboard-1.log'), 'utf8')
  expect(log).toContain('/sign-in/:secret')
  expect(log).not.toContain(address.slice(address.lastIndexOf('/') + 1))
  expect(log).not.toContain(session)
})

test('a link for an unknown address and an operator with an invalid address are refused', async () => {
  const unknown = await stack.sluice('dashboard', 'link', '--email', 'nobody@example.com')
  expect([unknown.code, unknown.json]).toEqual([1, undefined])
  expect(unknown.stderr).toContain('neither a member of an app nor an operator')
  expect((await stack.sluice('operator', 'add', '--email', 'nonsense')).code).toBe(1)
})

test('a sign-in link is mailed through the mail server of the stack', async () => {
  await stack.sluice('app', 'create', '--name', 'Shop', '--email', 'anna@example.com')
  await openVisitor({ url }).post('/sign-in', { email: 'anna@example.com' })
  const [mail] = await until('the mail', async () => {
    const mails = await stack.mailsTo('anna@example.com')
    return mails.length > 0 && mails
  })
  expect(mail?.text).toContain(`${url}/sign-in/`)
})
