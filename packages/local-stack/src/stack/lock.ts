import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { isRunning } from '../process-state.ts'
import { readIfThere } from '../read-if-there.ts'

// One stack at a time runs on a folder. Its lock file names a process, a port on 127.0.0.1 and a random word, and the
// process answers on that port with that word: so a lock left by a killed stack is told from a held one, even where
// its process number and its port have gone to other programs.

/** What a lock file says about the stack that holds it. */
export interface LockHolder {
  pid: number
  port: number
  word: string
}

/** A lock that this process holds. */
export interface Lock {
  release(): Promise<void>
}

const ANSWER_MS = 2000

/**
 * Takes the lock of a folder; a lock whose holder is gone is replaced.
 *
 * Gives the lock, or who holds it.
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
      if (await linked(mine, path)) return { lock: { release: () => release(path, content, server) } }
      const found = await readIfThere(path)
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

/** Gives the running stack that holds the lock of a folder, or undefined. */
export async function lockHolder(home: string): Promise<LockHolder | undefined> {
  const content = await readIfThere(join(home, 'lock.json'))
  return content === undefined ? undefined : livingHolder(content)
}

async function answerWith(word: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(word)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The lock alone is no reason for the process to live on.
  server.unref()
  return server
}

async function livingHolder(content: string): Promise<LockHolder | undefined> {
  const holder = parse(content)
  if (holder === undefined) return undefined
  const answer = await ask(holder.port)
  // A stack that is stopped in a terminal (Ctrl-Z) takes the connection but can't answer.
  const alive = answer === undefined ? await isRunning(holder.pid) : answer === holder.word
  return alive ? holder : undefined
}

/** Gives what the port answers: an empty answer where nobody is there, undefined where somebody keeps silent. */
function ask(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_MS })
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

/** Takes a stale lock away, unless somebody else was quicker: then what was moved is theirs, and goes back. */
async function removeStale(path: string, stale: string, aside: string): Promise<void> {
  try {
    await rename(path, aside)
  } catch {
    return
  }
  if ((await readFile(aside, 'utf8')) !== stale) await linked(aside, path)
  await rm(aside)
}

async function release(path: string, content: string, server: Server): Promise<void> {
  if ((await readIfThere(path)) === content) await rm(path)
  server.close()
}

/** Makes `path` a second name of a file in one step; false where `path` is there already. */
async function linked(file: string, path: string): Promise<boolean> {
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
    const sound = Number.isInteger(pid) && Number.isInteger(port) && port > 0 && port < 65_536
    return sound && typeof word === 'string' ? { pid, port, word } : undefined
  } catch {
    return undefined
  }
}
