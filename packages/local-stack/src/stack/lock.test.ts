import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../ports.ts'
import { type Lock, lockHolder, takeLock } from './lock.ts'

let home: string
const held: Lock[] = []

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-lock-'))
})

afterEach(async () => {
  for (const lock of held.splice(0)) await lock.release()
  await rm(home, { recursive: true })
})

/** Tries to take the lock. Returns whether it was taken. */
async function take(): Promise<boolean> {
  const taken = await takeLock(home)
  if ('lock' in taken) held.push(taken.lock)
  return 'lock' in taken
}

test('of several simultaneous attempts, only one gets the lock', async () => {
  const outcomes = await Promise.all(Array.from({ length: 8 }, take))
  expect(outcomes.filter(Boolean)).toHaveLength(1)
  expect((await lockHolder(home))?.pid).toBe(process.pid)
})

test('a release leaves no file, and the lock can be taken again', async () => {
  expect(await take()).toBe(true)
  await held.pop()?.release()
  expect(await readdir(home)).toEqual([])
  expect(await lockHolder(home)).toBeUndefined()
  expect(await take()).toBe(true)
})

test('a lock is stale if no program answers on its port, even if its process ID is in use', async () => {
  await leaveLock(await freePort('127.0.0.1'))
  expect(await lockHolder(home)).toBeUndefined()
  expect(await take()).toBe(true)
})

test('a lock is stale if another program answers on its port', async () => {
  const other = createServer((socket) => socket.end('220 mail.example.com ESMTP\r\n')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const address = other.address()
  await leaveLock(typeof address === 'object' && address !== null ? address.port : 0)
  expect(await take()).toBe(true)
})

test('of several simultaneous attempts to take a stale lock, only one gets it', async () => {
  await leaveLock(await freePort('127.0.0.1'))
  const outcomes = await Promise.all([take(), take()])
  expect(outcomes.toSorted()).toEqual([false, true])
  expect(await readdir(home)).toEqual(['lock.json'])
})

test.each(['', '{', '{}', '{"pid":1,"port":99999999,"word":"x"}', 'null'])(
  'a damaged lock (%s) is stale',
  async (text) => {
    await writeFile(join(home, 'lock.json'), text)
    expect(await take()).toBe(true)
  },
)

test('a release does not remove the lock of another process', async () => {
  expect(await take()).toBe(true)
  await leaveLock(1)
  await held.pop()?.release()
  expect(await readFile(join(home, 'lock.json'), 'utf8')).toContain('"port":1')
})

/** Writes a lock as a killed stack leaves it. Its process ID now belongs to a running program. */
function leaveLock(port: number): Promise<void> {
  return writeFile(join(home, 'lock.json'), JSON.stringify({ pid: process.pid, port, word: 'gone' }))
}
