import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readStackInfo, type StackInfo } from '@sluice/local-stack'
import { expect, test } from 'vitest'
import { openScratch } from '../environment/scratch.ts'
import { until } from '../environment/wait.ts'
import { processTree, stillRunning } from './processes.ts'
import { anyPorts } from './running-stack.ts'
import { openTerminal } from './terminal.ts'

// What somebody sees who tries Sluice out in a terminal.
const onLinux = test.runIf(process.platform === 'linux')

onLinux('Ctrl-C in the demo stops and removes everything, and shows no stack trace', async () => {
  await using scratch = await openScratch('sluice-first-hour-')
  const terminal = openTerminal('demo', [], { TMPDIR: scratch.path })
  await until('the import of the demo', () => terminal.shown().includes('npx sluice import'), 60_000)
  const [folder = ''] = (await readdir(scratch.path)).filter((name) => name.startsWith('sluice-demo-'))
  const info: StackInfo = JSON.parse(await readFile(join(scratch.path, folder, 'stack.json'), 'utf8'))
  const running = await processTree(info.pid)
  expect(running.length).toBeGreaterThan(5)
  terminal.type('\x03')
  expect(await terminal.code, terminal.shown()).toBe(130)
  expect(terminal.shown()).toMatch(/Everything is stopped and removed\.\s*$/)
  expect(terminal.shown()).not.toMatch(/^\s+at |Error/m)
  expect(await readdir(scratch.path)).toEqual([])
  expect(await stillRunning(running)).toEqual([])
})

onLinux('the demo shows what became of a file, and leaves nothing behind', { timeout: 300_000 }, async () => {
  await using scratch = await openScratch('sluice-first-hour-')
  const terminal = openTerminal('demo', [], { TMPDIR: scratch.path })
  await until('the import of the demo', () => terminal.shown().includes('npx sluice import'), 120_000)
  const [folder = ''] = (await readdir(scratch.path)).filter((name) => name.startsWith('sluice-demo-'))
  const info: StackInfo = JSON.parse(await readFile(join(scratch.path, folder, 'stack.json'), 'utf8'))
  const running = await processTree(info.pid)
  expect(await terminal.code, terminal.shown()).toBe(0)
  for (const part of ['Subject: ', 'SERVICE_ERRORS', 'Everything is stopped and removed. To keep a stack running'])
    expect(terminal.shown()).toContain(part)
  expect(await readdir(scratch.path)).toEqual([])
  expect(await stillRunning(running)).toEqual([])
})

onLinux('npm start in a terminal says how to go on: its link signs in, and its limits are high', async () => {
  await using scratch = await openScratch('sluice-first-hour-')
  const own = { RATE_LIMIT_BULK_IMPORT_V2: '7/10m' }
  const terminal = openTerminal('local', [], { ...anyPorts, ...own, SLUICE_HOME: scratch.path })
  await until('the next steps', () => terminal.shown().includes('Ctrl-C'), 60_000)
  const info = await readStackInfo(scratch.path)
  expect(terminal.shown()).toContain(`Documents   ${info?.api}/docs`)
  const [link = ''] = new RegExp(`${info?.dashboard}/sign-in/\\S+`).exec(terminal.shown()) ?? []
  expect(await (await fetch(link)).text()).toContain('Sign in as <strong>you@example.com</strong>')
  const signIn = await (await fetch(`${info?.dashboard}/sign-in`)).text()
  expect(signIn).toContain(`<a href="${info?.inbox}">open the inbox</a>`)

  const args = ['app', 'create', '--name', 'Shop', '--email', 'you@example.com', '--json']
  const created = openTerminal('cli', args, { SLUICE_HOME: scratch.path })
  await created.code
  const { api_token: token } = JSON.parse(created.shown())
  const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json' }
  const answer = await fetch(`${info?.api}/v3/user_profiles/bulk_import`, { method: 'POST', headers, body: '{}' })
  expect(answer.headers.get('X-RateLimit-Limit')).toBe('1000')
  // A limit that the person has set stays.
  const v2 = await fetch(`${info?.api}/v2/user_profiles/bulk_import`, { method: 'POST', headers, body: '{}' })
  expect(v2.headers.get('X-RateLimit-Limit')).toBe('7')

  terminal.type('\x03')
  expect(await terminal.code, terminal.shown()).toBe(0)
  expect(await readStackInfo(scratch.path)).toBeUndefined()
})
