import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readStackInfo } from '@sluice/local-stack'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { linesUntilReady, start } from './start.fixture.ts'

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-start-'))
})

afterEach(() => rm(home, { recursive: true }))

test('a second signal kills all processes at once', async () => {
  const stack = start(home)
  await linesUntilReady(stack)
  const info = await readStackInfo(home)
  stack.kill('SIGTERM')
  stack.kill('SIGINT')
  expect(await once(stack, 'exit')).toEqual([1, null])
  for (const pid of Object.values(info?.processes ?? {}).flat()) {
    await expect.poll(() => isAlive(pid)).toBe(false)
  }
  // Postgres ends by itself when its parent is gone, with a last checkpoint that waits for the disk.
  const files = () => readdir(join(home, 'postgres'))
  await expect.poll(files, { timeout: 30_000 }).not.toContain('postmaster.pid')
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
