import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { isFree } from '../ports.ts'
import { isRunning } from '../process-state.ts'
import type { AppDefinition } from './app-process.ts'
import { readStackInfo, type StackInfo } from './info.ts'
import type { Environment } from './settings.ts'
import { anyPorts, api, entry, openStackFixture, outside, query, type StackFixture } from './start.fixture.ts'

const worker: AppDefinition = { name: 'worker', entry, count: 2, env: { FIXTURE: 'worker' } }

let home: string
let start: StackFixture['start']
beforeEach(async () => {
  const fixture = await openStackFixture()
  ;({ home, start } = fixture)
  return () => fixture.close()
})

// design.md §2, Embedded parts.
describe('a stack', () => {
  // design.md §2, Ports.
  test('starts every part, passes their addresses to the apps, and leaves nothing running', async () => {
    let prepared: Environment = {}
    const prepare = async (env: Environment) => {
      await query(env.DATABASE_URL ?? '')
      prepared = env
    }
    const stack = await start({ env: { ...process.env, ...anyPorts, KEPT: 'as it is' }, prepare })
    const { info } = stack

    const env = await environmentOf(info.api)
    expect(env).toMatchObject({
      KEPT: 'as it is',
      DATABASE_URL: info.database,
      S3_ENDPOINT: info.storage,
      S3_REGION: 'us-east-1',
      S3_BUCKET: 'sluice',
      S3_ACCESS_KEY_ID: expect.stringMatching(/^SLUICE/),
      S3_SECRET_ACCESS_KEY: expect.stringMatching(/^.{40,}$/),
      SMTP_URL: expect.stringMatching(/^smtp:\/\/127\.0\.0\.1:\d+$/),
      MAIL_FROM: 'Sluice <no-reply@sluice.local>',
      ENCRYPTION_KEYS: expect.stringMatching(/^[\w+/]{43}=$/),
      API_URL: info.api,
      API_HOST: '127.0.0.1',
      API_PORT: new URL(info.api).port,
    })
    expect(prepared.S3_SECRET_ACCESS_KEY).toBe(env.S3_SECRET_ACCESS_KEY)
    expect(await (await fetch(`${info.inbox}/api/mails`)).json()).toEqual([])
    expect((await fetch(info.storage)).status, 'storage refuses anonymous requests').toBe(403)

    await stack.stop()
    for (const url of [info.api, info.storage, info.inbox ?? '', info.database]) {
      expect(await isFree('127.0.0.1', Number(new URL(url).port)), url).toBe(true)
    }
  })

  test('names settings that commands follow in stack.json, if the environment sets them', async () => {
    const shared = { WEBHOOK_ALLOW_HTTP: 'true', ENCRYPTION_KEYS: randomBytes(32).toString('base64') }
    const stack = await start({ env: { ...outside, ...shared, LOG_LEVEL: 'warn' }, apps: [] })
    expect(stack.info.settings).toEqual(shared)
  })

  // design.md §2, stack.json.
  test('describes itself in stack.json, readable by its owner only, and removes the file at the end', async () => {
    const stack = await start({ env: outside, apps: [api, worker] })
    const path = join(home, 'stack.json')
    expect((await stat(path)).mode & 0o077).toBe(0)
    const info: StackInfo = JSON.parse(await readFile(path, 'utf8'))
    expect(info).toEqual(stack.info)
    expect(info).toEqual({
      api: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      storage: outside.S3_ENDPOINT,
      database: outside.DATABASE_URL,
      settings: { ENCRYPTION_KEYS: outside.ENCRYPTION_KEYS },
      pid: process.pid,
      processes: { api: [expect.any(Number)], worker: [expect.any(Number), expect.any(Number)] },
      metrics: { api: [], worker: [] },
    })
    expect(await readStackInfo(home)).toEqual(info)

    const pids = Object.values(info.processes).flat()
    await stack.stop()
    await stack.exited
    expect(await Promise.all(pids.map(isRunning))).toEqual([false, false, false])
    expect(await readdir(home)).toEqual(['lock', 'logs'])
    expect(await readStackInfo(home)).toBeUndefined()
  })

  test('logs the output of the apps, and shows their warnings on the terminal', async () => {
    const lines: string[] = []
    await start({ env: outside, log: (line) => lines.push(line) })
    await expect.poll(() => lines).toEqual(['api: a warning'])
    expect(await readFile(join(home, 'logs', 'api-1.log'), 'utf8')).toMatch(/^an ordinary line\n\{"level":"warn"/)
  })
})

// If a terminal got this text unchanged, it would clear the screen, imitate a line of the stack, and reverse the rest.
const hostile = ' \x1b[2J\nready\r\x9b2J\u202etxt'
const control = /[\p{Cc}\u202e]/u

describe('bytes of a client', () => {
  test('reach the terminal as visible characters in one line', async () => {
    const lines: string[] = []
    await start({ env: { ...outside, HOSTILE: hostile }, log: (line) => lines.push(line) })
    await expect.poll(() => lines).toContain('api:  \ufffd[2J\ufffdready\ufffd\ufffd2J\ufffdtxt')
    expect(lines.filter((line) => control.test(line))).toEqual([])
  })

  test('in the last output of an app that does not start become visible characters, too', async () => {
    const failing = { ...worker, env: { FIXTURE: 'fails', HOSTILE: hostile } }
    const error = await start({ env: outside, apps: [failing] }).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ message: expect.stringContaining('the fixture fails') })
    const lines = String((error as Error).message).split('\n')
    expect(lines.filter((line) => control.test(line))).toEqual([])
  })
})

describe('an app that ends', () => {
  // design.md §2, Restarts.
  test('is restarted at the same address, and stack.json names the new process', async () => {
    const { info } = await start({ env: outside, apps: [api, worker] })
    for (const app of ['api', 'worker']) {
      const [killed = 0, ...others] = info.processes[app] ?? []
      process.kill(killed, 'SIGKILL')
      await expect.poll(async () => replaced(app, killed)).toBe(true)
      expect((await readStackInfo(home))?.processes[app]).toEqual(expect.arrayContaining(others))
    }
    expect((await environmentOf(info.api)).API_URL).toBe(info.api)
  })

  test('before it is ready makes the start fail with its last output, and nothing keeps running', async () => {
    const failing = { ...worker, env: { FIXTURE: 'fails' } }
    await expect(start({ env: outside, apps: [api, failing] })).rejects.toThrow(
      /worker \d did not start: exit code 1 .*worker-\d\.log[\s\S]*the fixture fails/,
    )
    expect(await readdir(home)).toEqual(['lock', 'logs'])
  })
})

describe('on one folder', () => {
  test('a second stack is refused, with the process and the addresses of the first', async () => {
    const { info } = await start({ env: outside })
    await expect(start({ env: outside })).rejects.toThrow(
      `Sluice already runs on ${home} (process ${process.pid}): API ${info.api}`,
    )
    expect(await readStackInfo(home)).toEqual(info)
  })
})

test('an aborted start leaves nothing running', async () => {
  const aborting = new AbortController()
  const prepare = async () => aborting.abort(new Error('aborted by the test'))
  await expect(start({ env: outside, signal: aborting.signal, prepare })).rejects.toThrow('aborted by the test')
  expect(await readdir(home)).toEqual(['lock', 'logs'])
})

async function replaced(app: string, killed: number): Promise<boolean> {
  const pids = (await readStackInfo(home))?.processes[app] ?? []
  return pids.length === (app === 'worker' ? 2 : 1) && !pids.includes(killed)
}

async function environmentOf(url: string): Promise<Environment> {
  return JSON.parse(await (await fetch(url)).text())
}
