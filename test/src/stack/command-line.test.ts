import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type ImportView, importView } from '@sluice/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { userIdsIn } from '../environment/database.ts'
import { endChild, killAtExit, nodeEnvironment } from '../environment/program.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { until } from '../environment/wait.ts'
import { type App, declare, ended, firstRequest, openApp, requestImport, upload } from './client.ts'
import type { CommandResult, StackAccess } from './running-stack.ts'

let stack: StackAccess
let folder: string
/** The app of tests that change nothing. */
let imported: App & { completed: ImportView; failed: ImportView }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-files-'))
  stack = await openSharedStack()
  imported = await importTwoFiles()
})

afterAll(async () => {
  await stack.close()
  await rm(folder, { recursive: true })
})

// design.md §2, Apps and tokens.
test('app create prints the app’s ID and a token that the API accepts', async () => {
  const { code, json, stderr } = await stack.sluice('app', 'create', '--name', 'Shop', '--email', 'a@example.com')
  expect({ code, json, stderr }).toEqual({
    code: 0,
    json: { app_id: expect.any(Number), api_token: expect.any(String) },
    stderr: '',
  })
  const { api_token: token } = json as { api_token: string }
  expect(await statusWith(token)).toBe(400)
})

test('token register prints a new token, and the old token is refused at once', async () => {
  const { appId, token } = await openApp(stack)
  expect(await statusWith(token)).toBe(400)
  const { code, json } = await stack.sluice('token', 'register', '--app', String(appId))
  expect({ code, json }).toEqual({ code: 0, json: { api_token: expect.any(String) } })
  expect(await statusWith(token)).toBe(403)
  expect(await statusWith((json as { api_token: string }).api_token)).toBe(400)
})

test('member add adds a member at once, and reports if the member existed', async () => {
  const { appId } = await openApp(stack)
  const add = (email: string, app = String(appId)) => stack.sluice('member', 'add', '--app', app, '--email', email)
  const result = (email: string, added: boolean) => ({ code: 0, json: { app_id: appId, email, added }, stderr: '' })
  expect(await add('second@example.com')).toEqual(result('second@example.com', true))
  expect(await add('SECOND@example.com')).toEqual(result('SECOND@example.com', false))
  expect(await add('second@example.com', '999999')).toEqual(
    refusal('sluice: there is no app 999999\nsluice apps list shows the apps\n'),
  )
})

// design.md §2, Registering users.
test('users register counts new and known IDs, from stdin and from a file', async () => {
  const { appId } = await openApp(stack, ['b'])
  const fromStdin = await stack.sluiceReading('a\r\r\nb\r\n\n\r\n ü \n\r', 'users', 'register', '--app', String(appId))
  expect(fromStdin).toEqual({ code: 0, json: { registered: 2, already_registered: 1 }, stderr: '' })

  const file = await write('ids.txt', 'a\nc\nc\nd')
  const fromFile = await stack.sluice('users', 'register', '--app', String(appId), '--file', file)
  expect(fromFile.json).toEqual({ registered: 2, already_registered: 2 })
  expect((await stack.sluice('user', 'show', '--app', String(appId), ' ü ')).code).toBe(0)
})

test('users register counts an ID once, however often and where it is in a file', async () => {
  const { appId } = await openApp(stack)
  const ids = Array.from({ length: 15_000 }, (_, index) => `u${index}`)
  const input = [...ids, ...ids.toReversed(), ...ids].join('\n')
  const { code, json } = await stack.sluiceReading(input, 'users', 'register', '--app', String(appId))
  expect({ code, json }).toEqual({ code: 0, json: { registered: 15_000, already_registered: 30_000 } })
})

test('users register that was killed registers the rest when it runs again', async () => {
  const { appId } = await openApp(stack)
  const args = ['users', 'register', '--app', String(appId)]
  const input = Array.from({ length: 25_000 }, (_, index) => `u${index}\n`).join('')
  const child = spawn(process.execPath, [fileURLToPath(import.meta.resolve('@sluice/cli-app/src/main.ts')), ...args], {
    env: { ...nodeEnvironment, SLUICE_HOME: stack.home },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  killAtExit(child)
  // stdin stays open, so the command waits for the rest of its last block.
  child.stdin.write(input)
  await until('the first blocks', async () => (await userIdsIn(stack, 'users', appId)).length === 20_000)
  await endChild(child)
  const { code, json } = await stack.sluiceReading(input, ...args)
  expect({ code, json }).toEqual({ code: 0, json: { registered: 5_000, already_registered: 20_000 } })
})

// The other tests run commands in this process. command-line.long.test.ts has more commands in processes.
test('a process reads stdin, prints the result or the error, and ends with the exit code', async () => {
  const { appId } = await openApp(stack)
  const registered = await stack.pipeToSluice('a\nb\n', 'users', 'register', '--app', String(appId))
  expect(registered).toEqual({ code: 0, json: { registered: 2, already_registered: 0 }, stderr: '' })
  const refused = await stack.pipeToSluice('', 'keys', '--app', '999999')
  expect(refused).toEqual(refusal('sluice: there is no app 999999\nsluice apps list shows the apps\n'))
})

test.for([
  ['too long', 'x'.repeat(256), 'sluice: line 3: a user ID should be at most 255 characters\n'],
  ['with a NUL', 'a\0b', 'sluice: line 3: a user ID should not contain U+0000\n'],
  ['followed by CR alone', 'u1\ru2\r', 'sluice: line 3: newline character not found\n'],
] as const)('users register names the line of an ID that is %s', async ([, id, message]) => {
  const { appId } = await openApp(stack)
  const input = `a\nb\n${id}\nc\n`
  expect(await stack.sluiceReading(input, 'users', 'register', '--app', String(appId))).toEqual(refusal(message))
})

// design.md §2, User view.
test('user show prints users with and without values', async () => {
  const show = (user: string) => stack.sluice('user', 'show', '--app', String(imported.appId), user)
  expect((await show('u1')).json).toEqual({
    user_id: 'u1',
    profiles: { name: { type: 'string', value: 'Ana' }, age: { type: 'int', value: 31 } },
    campaign_target: true,
    deletion: null,
  })
  expect((await show('u2')).json).toEqual({ user_id: 'u2', profiles: {}, campaign_target: true, deletion: null })
})

// design.md §2, Import view; design.md §2, Key list; design.md §2, Connections.
test('keys, imports and import show print the same data as the API', async () => {
  const { appId, completed, failed } = imported
  const keys = await stack.sluice('keys', '--app', String(appId))
  expect(keys.json).toEqual([
    { key: 'age', type: 'int', registered_at: expect.any(String), enabled: true, description: null },
    { key: 'name', type: 'string', registered_at: expect.any(String), enabled: true, description: null },
  ])
  const imports = await stack.sluice('imports', '--app', String(appId))
  expect(imports.json).toEqual([failed, completed])
  expect((await stack.sluice('import', 'show', completed.import_id)).json).toEqual(completed)

  const empty = await openApp(stack)
  expect((await stack.sluice('keys', '--app', String(empty.appId))).json).toEqual([])
  expect((await stack.sluice('imports', '--app', String(empty.appId))).json).toEqual([])
})

// design.md §2, Upload.
test('import uploads a file and prints the import ID, or with --wait the finished import', async () => {
  const { appId, token } = await openApp(stack, ['u1'])
  const file = await write('plain.csv', 'user_id,age\nu1,1\n')
  const first = await stack.sluice('import', file, '--token', token)
  expect(first).toMatchObject({ code: 0, json: { import_id: expect.any(String) } })

  const packed = await write('packed.csv.gz', gzipSync('user_id,age\nu1,2\nu2,2\n'))
  const second = await stack.sluice('import', packed, '--token', token, '--api', stack.api, '--wait')
  expect(second.code).toBe(0)
  expect(importView.parse(second.json)).toMatchObject({ state: 'completed', rows_total: 2, rows_applied: 1 })
  expect((await stack.sluice('user', 'show', '--app', String(appId), 'u1')).json).toMatchObject({
    profiles: { age: { value: 2 } },
  })
})

test('import --app refuses a token of another app before it uploads anything', async () => {
  const { appId, token } = await openApp(stack, ['u1'])
  const file = await write('of-app.csv', 'user_id,age\nu1,1\n')
  const refused = await stack.sluice('import', file, '--token', token, '--app', String(appId + 1))
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('does not belong to app') })
  expect((await stack.sluice('imports', '--app', String(appId))).json).toEqual([])
  expect((await stack.sluice('import', file, '--token', token, '--app', String(appId))).code).toBe(0)
})

test('import --dry-run checks the file and applies nothing', async () => {
  const { appId, token } = await openApp(stack, ['u1'])
  const file = await write('dry.csv', 'user_id,age\nu1,1\nu2,2\n')
  const { code, json } = await stack.sluice('import', file, '--token', token, '--dry-run', '--wait')
  expect(code).toBe(0)
  expect(json).toMatchObject({ state: 'completed', dry_run: true, rows_total: 2, rows_applied: 0, rows_failed: 1 })
  expect((await stack.sluice('keys', '--app', String(appId))).json).toEqual([])
})

test('import warns of a file with semicolons, and names the page that converts it; and of a workbook', async () => {
  const { token } = await openApp(stack, ['u1'])
  const { code, stderr } = await stack.sluice(
    'import',
    await write('semicolons.csv', 'user_id;age\nu1;1,5\n'),
    ...['--token', token, '--wait'],
  )
  expect(code).toBe(1)
  expect(stderr).toContain(
    'sluice: the first line of semicolons.csv has semicolons and no commas. The data import page',
  )
  expect(stderr).toContain('sluice: the import has failed: user_id column is required\n')
  const workbook = await stack.sluice('import', await write('people.xlsx', 'PK\u0003\u0004 user_id'), '--token', token)
  expect(workbook.stderr).toContain('sluice: people.xlsx is a workbook or another ZIP file. Save it as CSV (UTF-8).')
})

test('import cancel cancels an import that has not ended, and fails for an import that has ended', async () => {
  const { token } = await openApp(stack)
  const { importId } = await requestImport(stack.api, token, declare(Buffer.from('user_id,age\nu1,1\n')))
  const cancelled = await stack.sluice('import', 'cancel', importId)
  expect(cancelled).toMatchObject({ code: 0, json: { import_id: importId, state: 'cancelled', rows_applied: 0 } })
  expect(await stack.sluice('import', 'cancel', importId)).toEqual(cancelled)
  const words = 'sluice: the import cannot be cancelled: it has completed already\n'
  expect(await stack.sluice('import', 'cancel', imported.completed.import_id)).toEqual(refusal(words))
})

test('a client without the database shows and cancels imports of its app, and of no other', async () => {
  const { token } = await openApp(stack)
  const { importId } = await requestImport(stack.api, token, declare(Buffer.from('user_id,age\nu1,1\n')))
  const run = (verb: string, ...options: string[]) =>
    stack.sluice('imports', verb, importId, '--api', stack.api, '--token', ...options)
  expect(await run('show', token)).toMatchObject({ code: 0, json: { import_id: importId, state: 'awaiting_upload' } })
  expect(await run('cancel', imported.token)).toEqual(refusal('sluice: Not found. (404)\n'))
  expect(await run('cancel', token)).toMatchObject({ code: 0, json: { import_id: importId, state: 'cancelled' } })
})

// changes.md §2, The decision.
test('import --wait ends when the import is held, and names the command that applies it', async () => {
  const { token } = await openApp(stack, ['a'])
  const file = await write('held.csv', 'user_id,age\na,7\n')
  const asClient = ['--token', token, '--api', stack.api]
  const held = await stack.sluice('import', file, ...asClient, '--wait', '--hold-if', 'new_keys=0')
  const view = importView.parse(held.json)
  const reason = 'new_keys is 1, over 0'
  expect(view).toMatchObject({ state: 'held', rows_total: 1, rows_applied: 0, held: { reasons: [reason] } })
  expect(held.code).toBe(1)
  expect(held.stderr).toContain(`the import is held: ${reason}. To apply it: sluice import approve ${view.import_id}\n`)
  const approve = (...options: string[]) => stack.sluice('import', 'approve', view.import_id, ...options)
  expect(await approve(...asClient)).toMatchObject({ code: 0, json: { import_id: view.import_id, held: null } })
  await ended(stack.api, token, view.import_id)
  const refused = 'he import cannot be approved: it is not held, but completed'
  expect(await approve(...asClient)).toEqual(refusal(`sluice: T${refused}. (409)\n`))
  expect(await approve()).toEqual(refusal(`sluice: t${refused}\n`))
})

test('import approve --wait shows the applied import, to a client and to an operator', async () => {
  const { token } = await openApp(stack, ['a'])
  const asClient = ['--token', token, '--api', stack.api]
  for (const [age, options] of [asClient, []].entries()) {
    const file = await write(`held-${age}.csv`, `user_id,age\na,${age}\n`)
    const held = await stack.sluice('import', file, ...asClient, '--wait', '--hold-if', 'always')
    const { import_id: importId } = importView.parse(held.json)
    expect(await stack.sluice('import', 'approve', importId, '--wait', ...options)).toMatchObject({
      code: 0,
      json: { import_id: importId, state: 'completed', rows_applied: 1 },
    })
  }
})

test('import retry --wait shows how the new import ended, and exits with 1 if it failed again', async () => {
  const { token } = await openApp(stack)
  const file = await write('again.csv', 'id\n')
  const { json } = await stack.sluice('import', file, '--token', token, '--api', stack.api, '--wait')
  const { import_id: failed } = importView.parse(json)
  const retried = await stack.sluice('import', 'retry', failed, '--wait')
  expect(retried).toMatchObject({ code: 1, json: { state: 'failed', error: 'user_id column is required' } })
  expect(importView.parse(retried.json).import_id).not.toBe(failed)
})

test('import --wait on a file that is refused shows the failed import and exits with 1', async () => {
  const { token } = await openApp(stack)
  const { code, json, stderr } = await stack.sluice(
    'import',
    await write('bad.csv', 'id\n'),
    '--token',
    token,
    '--wait',
  )
  expect(code).toBe(1)
  expect(json).toMatchObject({ state: 'failed', error: 'user_id column is required' })
  expect(stderr).toContain('user_id column is required')
})

// design.md §2, Output.
test.for<[string, (files: { csv: string; token: string }) => string[], string]>([
  ['app in token register', () => ['token', 'register', '--app', '999999'], 'there is no app 999999'],
  ['app in users register', () => ['users', 'register', '--app', '999999'], 'there is no app 999999'],
  ['app in keys', () => ['keys', '--app', '999999'], 'there is no app 999999'],
  ['app in imports', () => ['imports', '--app', '999999'], 'there is no app 999999'],
  ['user', () => ['user', 'show', '--app', '1', 'nobody'], 'user "nobody" is not registered'],
  ['import', () => ['import', 'show', 'x'], 'there is no import "x"\nsluice imports list --all shows the imports\n'],
  ['import to cancel', () => ['import', 'cancel', 'x'], 'there is no import "x"'],
  ['file to import', ({ token }) => ['import', '/nowhere.csv', '--token', token], '/nowhere.csv'],
  ['file of users', () => ['users', 'register', '--app', '1', '--file', '/nowhere'], '/nowhere'],
  ['token', ({ csv }) => ['import', csv, '--token', 'x'], 'The API token is invalid'],
  ['e-mail address', () => ['app', 'create', '--name', 'x', '--email', 'nobody'], '"nobody" is not an e-mail address'],
])('an unknown %s is reported on stderr, with exit code 1 and nothing on stdout', async ([, args, words]) => {
  const csv = await write('any.csv', 'user_id\n')
  const { stderr, ...rest } = await stack.sluice(...args({ csv, token: imported.token }))
  expect(stderr).toContain(words)
  expect(rest).toEqual({ code: 1, json: undefined })
})

test.for([
  ['no such command', ['nonsense']],
  ['no such option', ['keys', '--app', '1', '--nonsense']],
  ['no app', ['keys']],
  ['an app ID that is not a number', ['keys', '--app', 'x']],
  ['no file', ['import', '--token', 'x']],
  ['no token', ['import', 'x.csv']],
  ['an API that is not a URL', ['import', 'x.csv', '--token', 'x', '--api', 'x']],
  ['no user', ['user', 'show', '--app', '1']],
  ['half a command', ['token']],
] as const)('wrong usage (%s) is reported on stderr, with exit code 2 and nothing on stdout', async ([, args]) => {
  const { stderr, ...rest } = await stack.sluice(...args)
  expect(rest).toEqual({ code: 2, json: undefined })
  expect(stderr).not.toBe('')
})

test.for([
  [['improts'], "sluice: unknown command 'improts'. Did you mean imports?\nsluice --help lists all commands\n"],
  [
    ['keys', 'ad', 'zip=int', '--app', '1'],
    "sluice: unknown command 'ad'. Did you mean add?\nsluice keys --help lists its commands\n",
  ],
  [
    ['import', 'x.csv', '--wiat'],
    "sluice: unknown option '--wiat'. Did you mean --wait?\nsluice imports create --help lists its options\n",
  ],
  [['deletions'], 'sluice: --app is missing\nsluice deletions list --help lists its options\n'],
  [
    ['import', 'x.csv'],
    'sluice: --token (or SLUICE_TOKEN) is missing\nsluice tokens register --app APP issues a token; one that is in use ends at once\n',
  ],
] as const)('%s is answered by what was meant, and by what to do next', async ([args, words]) => {
  expect(await stack.sluice(...args)).toEqual({ code: 2, json: undefined, stderr: words })
})

function refusal(stderr: string): CommandResult {
  return { code: 1, json: undefined, stderr }
}

/** Returns the status of an empty first request with a token: 400 means that the token is valid. */
async function statusWith(token: string): Promise<number> {
  return (await firstRequest(stack.api, {}, { 'X-Service-Token': token })).status
}

async function importTwoFiles() {
  const app = await openApp(stack, ['u1', 'u2'])
  const importFile = (file: string) => upload(stack.api, app.token, Buffer.from(file))
  const importIds = [await importFile('user_id,name,age\nu1,Ana,31\nu3,Cy,1\n'), await importFile('id\n1\n')] as const
  const failed = await ended(stack.api, app.token, importIds[1])
  return { ...app, completed: await ended(stack.api, app.token, importIds[0]), failed }
}

async function write(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}
