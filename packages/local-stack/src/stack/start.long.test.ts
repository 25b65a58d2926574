import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { isRunning } from '../process-state.ts'
import { readStackInfo, type StackInfo } from './info.ts'
import { api, openStackFixture, outside, query, type StackFixture } from './start.fixture.ts'
import type { StackOptions } from './start.ts'

// Stacks with embedded Postgres whose processes are killed. start.test.ts has everything else.
let home: string
let start: StackFixture['start']
beforeEach(async () => {
  const fixture = await openStackFixture()
  ;({ home, start } = fixture)
  return () => fixture.close()
})

describe('on one folder', () => {
  test('the apps and Postgres of a killed stack end, and the next stack starts on its data', async () => {
    const env = { ...outside, DATABASE_URL: '' }
    const killed = await startInChild({ home, env, apps: [api] })
    const postgres = Number((await readFile(join(home, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
    process.kill(killed.pid, 'SIGKILL')
    for (const pid of [...(killed.processes.api ?? []), postgres]) {
      await expect.poll(() => isRunning(pid)).toBe(false)
    }
    expect(await readStackInfo(home)).toBeUndefined()

    const { info } = await start({ env })
    await query(info.database)
    expect(passwordOf(info)).toBe(passwordOf(killed))
  })
})

test('Postgres is restarted after it was killed', async () => {
  const { info } = await start({ env: { ...outside, DATABASE_URL: '' }, apps: [] })
  const path = join(home, 'postgres', 'postmaster.pid')
  process.kill(Number((await readFile(path, 'utf8')).split('\n')[0]), 'SIGKILL')
  await expect.poll(() => query(info.database).catch(() => 'down')).toBe('up')
})

async function startInChild(options: Omit<StackOptions, 'log'>): Promise<StackInfo> {
  const fixture = fileURLToPath(new URL('stack-in-child.fixture.ts', import.meta.url))
  const child = fork(fixture, [JSON.stringify(options)], { execArgv: [] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [info] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the child ended'))),
  ])
  return info
}

function passwordOf(info: StackInfo): string {
  return new URL(info.database).password
}
