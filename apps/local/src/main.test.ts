import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { readStackInfo } from '@sluice/local-stack'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'

const main = fileURLToPath(new URL('main.ts', import.meta.url))
const ports = [
  'API_PORT',
  'DASHBOARD_PORT',
  'S3_GATEWAY_PORT',
  'STORAGE_PORT',
  'INBOX_PORT',
  'SMTP_PORT',
  'POSTGRES_PORT',
]
const anyPorts = Object.fromEntries(ports.map((port) => [port, '0']))

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-start-'))
})

afterEach(() => rm(home, { recursive: true }))

test('npm start prints the addresses and ready, refuses a second start, and ends cleanly on Ctrl-C', async () => {
  const first = start()
  const lines = await linesUntilReady(first)
  const info = await readStackInfo(home)
  expect(lines).toContain(`API         ${info?.api}`)
  expect((await fetch(info?.api ?? '')).status).toBe(404)

  const second = start()
  const said = text(second.stderr ?? process.stdin)
  expect(await once(second, 'exit')).toEqual([1, null])
  const addresses = `API ${info?.api}, dashboard ${info?.dashboard}, storage ${info?.storage}`
  expect(await said).toBe(`Sluice already runs on ${home} (process ${first.pid}): ${addresses}\n`)

  first.kill('SIGINT')
  expect(await once(first, 'exit')).toEqual([0, null])
  const left = await readdir(home)
  expect(left).not.toContain('stack.json')
  expect(left).not.toContain('lock.json')
})

test('a second signal kills all processes at once', async () => {
  const stack = start()
  await linesUntilReady(stack)
  const info = await readStackInfo(home)
  stack.kill('SIGTERM')
  stack.kill('SIGINT')
  expect(await once(stack, 'exit')).toEqual([1, null])
  for (const pid of Object.values(info?.processes ?? {}).flat()) {
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
  }
  await expect.poll(async () => (await readdir(join(home, 'postgres'))).includes('postmaster.pid')).toBe(false)
})

test('an invalid setting is named on stderr, and the exit code is 1', async () => {
  const stack = start({ API_PORT: 'x' })
  const said = text(stack.stderr ?? process.stdin)
  expect(await once(stack, 'exit')).toEqual([1, null])
  expect(await said).toBe('API_PORT must be a whole number from 0 to 65535\n')
})

function start(env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      SLUICE_HOME: home,
      ...anyPorts,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function linesUntilReady(child: ChildProcess): Promise<string[]> {
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout ?? process.stdin })) {
    if (line === 'ready') return lines
    lines.push(line)
  }
  throw new Error(`the process ended early: ${lines.join('\n')}`)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
