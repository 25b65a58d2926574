import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { isLocked, takeLock } from './lock.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-lock-'))
})
afterEach(() => rm(home, { recursive: true }))

/** Starts a process that tries to take the lock and keeps it. Returns the process, and whether it has the lock. */
async function startHolder() {
  const holder = fork(fileURLToPath(new URL('lock-holder.fixture.ts', import.meta.url)), [home])
  onTestFinished(() => void holder.kill('SIGKILL'))
  const [hasLock] = (await once(holder, 'message')) as [boolean]
  return { holder, hasLock }
}

test('of several processes that start at once, beside the lock of a killed one, only one gets the lock', async () => {
  const killed = await startHolder()
  killed.holder.kill('SIGKILL')
  await once(killed.holder, 'exit')
  const started = await Promise.all(Array.from({ length: 3 }, startHolder))
  expect(started.filter(({ hasLock }) => hasLock)).toHaveLength(1)
  expect(isLocked(home)).toBe(true)
  expect(takeLock(home)).toBeUndefined()
})

test('a suspended process keeps its lock, and a killed one does not', async () => {
  const { holder } = await startHolder()
  holder.kill('SIGSTOP')
  expect(takeLock(home)).toBeUndefined()
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  expect(isLocked(home)).toBe(false)
  takeLock(home)?.release()
})

test('within a process, the lock is taken once, and can be taken again after its release', () => {
  const lock = takeLock(home)
  expect(takeLock(home)).toBeUndefined()
  lock?.release()
  expect(isLocked(home)).toBe(false)
  takeLock(home)?.release()
})
