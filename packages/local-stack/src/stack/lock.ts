import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { isRunning } from '../process-state.ts'
import { readIfExists } from '../read-if-exists.ts'

// Only one stack at a time runs on a folder. Its lock file contains a process ID, a port on 127.0.0.1 and a random
// word. The process answers on that port with that word. A lock that a killed stack has left is therefore recognized,
// even if other programs now have its process ID and its port.

/** The content of a lock file, which identifies the stack that holds the lock. */
export interface LockHolder {
  pid: number
  port: number
  word: string
}

/** A lock that this process holds. */
export interface Lock {
  release(): Promise<void>
}

const answerTimeoutMs = 2000

/**
 * Acquires the lock of a folder. A lock is replaced if its holder no longer runs.
 *
 * Returns the lock, or the current holder if the lock is held.
 */
export async function takeLock(home: string): Promise<{ lock: Lock } | { holder: LockHolder }> {
  const word = randomUUID()
  const server = await answerWith(word)
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const path = join(home, 'lock.json')
  const mine = `${path}.${word}`
  const content = JSON.stringify({ pid: process.pid, port, word } satisfies LockHolder)
  try {
    await writeFile(mine, content, { mode: 0o600 })
    for (;;) {
      if (await tryLink(mine, path)) return { lock: { release: () => release(path, content, server) } }
      const found = await readIfExists(path)
      if (found === undefined) continue
      const holder = await livingHolder(found)
      if (holder !== undefined) {
        server.close()
        return { holder }
      }
      await removeStale(path, found, `${mine}.stale`)
    }
  } catch (error) {
    server.close()
    throw error
  } finally {
    await rm(mine, { force: true })
  }
}

/** Returns the running stack that holds the lock of a folder; undefined if no running stack holds it. */
export async function lockHolder(home: string): Promise<LockHolder | undefined> {
  const content = await readIfExists(join(home, 'lock.json'))
  return content === undefined ? undefined : livingHolder(content)
}

async function answerWith(word: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(word)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The lock alone must not keep the process running.
  server.unref()
  return server
}

async function livingHolder(content: string): Promise<LockHolder | undefined> {
  const holder = parse(content)
  if (holder === undefined) return undefined
  const answer = await readAnswer(holder.port)
  // A stack that is suspended in a terminal (Ctrl-Z) accepts the connection but cannot answer. Its process ID then
  // decides.
  const alive = answer === undefined ? await isRunning(holder.pid) : answer === holder.word
  return alive ? holder : undefined
}

/**
 * Reads the answer on a port: an empty text if no program listens, undefined if the program does not answer in time.
 */
function readAnswer(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: answerTimeoutMs })
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
      if (answer.length > 100) socket.destroy()
    })
    socket.on('timeout', () => {
      resolve(undefined)
      socket.destroy()
    })
    socket.on('error', () => resolve(''))
    socket.on('close', () => resolve(answer))
  })
}

/**
 * Removes a stale lock, by first moving it to `aside`. If another process has replaced the stale lock meanwhile, the
 * moved file is the new lock, and is moved back.
 */
async function removeStale(path: string, stale: string, aside: string): Promise<void> {
  try {
    await rename(path, aside)
  } catch {
    return
  }
  if ((await readFile(aside, 'utf8')) !== stale) await tryLink(aside, path)
  await rm(aside)
}

async function release(path: string, content: string, server: Server): Promise<void> {
  if ((await readIfExists(path)) === content) await rm(path)
  server.close()
}

/** Makes `path` a hard link of a file, atomically. Returns false if `path` exists already. */
async function tryLink(file: string, path: string): Promise<boolean> {
  try {
    await link(file, path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

function parse(content: string): LockHolder | undefined {
  try {
    const { pid, port, word } = JSON.parse(content)
    const isValid = Number.isInteger(pid) && Number.isInteger(port) && port > 0 && port < 65_536
    return isValid && typeof word === 'string' ? { pid, port, word } : undefined
  } catch {
    return undefined
  }
}
