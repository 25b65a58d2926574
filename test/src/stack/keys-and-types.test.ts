import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { auditLogPage } from '@sluice/audit-log'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSharedStack } from '../environment/shared-stack.ts'
import { declare, firstRequest, openApp } from './client.ts'
import type { StackAccess } from './running-stack.ts'

// Keys, declared types, new keys and the clear marker, from the command line and over the API.
let stack: StackAccess
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-files-'))
  stack = await openSharedStack()
})

afterAll(async () => {
  await stack.close()
  await rm(folder, { recursive: true })
})

async function write(name: string, content: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

const valuesOf = async (appId: number, user: string) => {
  const { json } = await stack.sluice('user', 'show', '--app', String(appId), user)
  return (json as { profiles: Record<string, unknown> }).profiles
}

// second-day.md §1, Command line.
test('keys add registers keys, all or none, and names each conflict', async () => {
  const app = String((await openApp(stack)).appId)
  const view = (key: string, type: string) => ({
    key,
    type,
    registered_at: expect.any(String),
    enabled: true,
    description: null,
  })
  const added = await stack.sluice('keys', 'add', '--app', app, 'zip=string', 'a=b=int')
  expect(added).toEqual({ code: 0, json: [view('a=b', 'int'), view('zip', 'string')], stderr: '' })
  const refused = await stack.sluice('keys', 'add', '--app', app, 'zip=int', 'new=int')
  expect(refused).toMatchObject({ code: 1, stderr: 'sluice: zip is registered as string\n' })
  expect((await stack.sluice('keys', '--app', app)).json).toEqual([view('a=b', 'int'), view('zip', 'string')])
  for (const [pair, message] of [
    ['zip', 'zip should be KEY=TYPE, for example zip=string'],
    ['zip=text', 'zip should be of type string, int, decimal, datetime'],
    ['user_id=string', 'user_id is a reserved name'],
  ] as const)
    expect(await stack.sluice('keys', 'add', '--app', app, pair)).toMatchObject({
      code: 2,
      stderr: `sluice: ${message}\n`,
    })
})

// changes.md §4.
test('keys disable, enable and describe change keys, all or none, and print their entries', async () => {
  const { appId } = await openApp(stack)
  const keys = (...args: [string, ...string[]]) => stack.sluice('keys', ...args, '--app', String(appId))
  await keys('add', 'zip=string', 'plan=string')
  const entries = (enabled: boolean, description: string | null = null) =>
    ['plan', 'zip'].map((key) => ({ key, type: 'string', registered_at: expect.any(String), enabled, description }))
  expect(await keys('disable', 'zip', 'plan')).toEqual({ code: 0, json: entries(false), stderr: '' })
  expect(await keys('enable', 'zip', 'nothing')).toMatchObject({
    code: 1,
    stderr: 'sluice: profile keys are not registered: nothing\n',
  })
  expect((await keys('list')).json).toEqual(entries(false))
  expect((await keys('enable', 'zip', 'plan', 'zip')).json).toEqual(entries(true))
  expect((await keys('describe', 'zip', 'Where the user lives')).json).toEqual([
    entries(true, 'Where the user lives')[1],
  ])
  expect((await keys('describe', 'zip', '')).json).toEqual([entries(true)[1]])
  expect(await keys('describe', 'zip', 'x'.repeat(256))).toMatchObject({ code: 2 })
  expect((await keys('disable')).code).toBe(2)
  const log = await auditLogPage(stack.db, { appId, what: 'key.change' }, 10)
  expect(log.entries.map(({ target, outcome }) => [target, outcome])).toEqual([
    ['described: zip', 'done'],
    ['described: zip', 'done'],
    ['enabled: zip, plan, zip', 'done'],
    ['enabled: zip, nothing', 'failed'],
    ['disabled: zip, plan', 'done'],
  ])
})

test('import declares types, refuses new keys, and removes values; the view names the file', async () => {
  const { appId, token } = await openApp(stack, ['u1'])
  const run = (file: string, ...options: string[]) =>
    stack.sluice('import', file, '--token', token, '--wait', ...options)
  const people = await write('people.csv', 'user_id,zip,born\nu1,007,2026-01-01\n')
  const { json } = await run(people, '--type', 'zip=string', '--type', 'born=datetime', '--new-keys', 'refuse')
  expect(json).toMatchObject({
    state: 'completed',
    file_name: 'people.csv',
    types: { zip: 'string', born: 'datetime' },
    warnings: [],
  })
  expect(await valuesOf(appId, 'u1')).toMatchObject({ zip: { type: 'string', value: '007' } })

  const more = await write('more.csv', 'user_id,zip,shop\nu1,#N/A,01\n')
  const refused = await run(more, '--new-keys', 'refuse')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('profile keys are not registered: shop') })
  const cleared = await run(more, '--clear-marker', '#N/A')
  expect(cleared.json).toMatchObject({
    warnings: [
      { key: 'shop', type: 'int', message: '1 of 1 values begin with 0, which int does not keep', examples: ['01'] },
    ],
  })
  expect(Object.keys(await valuesOf(appId, 'u1'))).toEqual(['born', 'shop'])

  const conflict = await run(people, '--type', 'shop=string')
  expect(conflict.stderr).toContain('Validation failed: profile_types: shop is registered as int (400)')
  const missing = await run(people, '--type', 'zipp=string')
  expect(missing.stderr).toContain('declared columns are missing: zipp')
})

// second-day.md §1, New keys; changes.md §1, Asking for it.
test('app set changes the default for every route, and a first request overrides it', async () => {
  const { appId, token } = await openApp(stack, ['u1'])
  const set = await stack.sluice('app', 'set', '--app', String(appId), '--new-keys', 'refuse')
  expect(set).toMatchObject({ code: 0, json: { app_id: appId, name: 'Test', new_keys: 'refuse', keep_changes: false } })
  const v2 = await fetch(`${stack.api}/v2/user_profiles/bulk_import`, {
    method: 'POST',
    headers: { 'Content-Type': 'text/csv', 'X-Service-Token': token },
    body: 'user_id,b,a\nu1,1,1\n',
  })
  expect([v2.status, await v2.json()]).toEqual([
    400,
    { error: { code: 2001, messages: ['profile keys are not registered: b, a'] } },
  ])
  const file = await write('keys.csv', 'user_id,a\nu1,1\n')
  const refused = await stack.sluice('import', file, '--token', token, '--wait')
  expect(refused.stderr).toContain('profile keys are not registered: a')
  const registered = await stack.sluice('import', file, '--token', token, '--wait', '--new-keys', 'register')
  expect(registered).toMatchObject({ code: 0, json: { state: 'completed' } })
  expect((await stack.sluice('app', 'set', '--app', '999999', '--new-keys', 'refuse')).stderr).toBe(
    'sluice: there is no app 999999\nsluice apps list shows the apps\n',
  )
  expect((await stack.sluice('app', 'set', '--app', String(appId), '--new-keys', 'x')).code).toBe(2)
})

test('a first request may declare as many types as a header has room for', async () => {
  const { token } = await openApp(stack)
  const types = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${index}`.padStart(200, 'k'), 'string']))
  const body = { ...declare(Buffer.from('user_id\n')), profile_types: types }
  expect((await firstRequest(stack.api, body, { 'X-Service-Token': token })).status).toBe(200)
})
