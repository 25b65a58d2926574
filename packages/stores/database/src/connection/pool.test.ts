import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { closeMs } from './client.ts'
import { openPool } from './pool.ts'

// Postgres's messages, in the order of a login: no password is needed; the server is ready; the server ends the
// connection.
const authenticated = message('R', Buffer.alloc(4))
const ready = message('Z', Buffer.from('I'))
const terminated = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'))

test('a connection that breaks while nobody waits for a query on it reports its error, and the process goes on', async () => {
  const { url, sockets } = await startServer([authenticated, ready])
  const { pool, errors } = open(url)
  const client = await pool.connect()
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  for (const socket of sockets) socket.resetAndDestroy()
  await ended
  client.release()
  expect(errors[0]).toBe('read ECONNRESET')
})

test('a server that ends a connection in the message that opens it does not end the process', async () => {
  const { url } = await startServer([authenticated, ready, terminated])
  const { pool, errors } = open(url)
  const client = await pool.connect()
  client.release()
  expect(errors).toEqual(['terminating connection'])
})

test('a connection ends although the server never closes its side, as a server that hangs does not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { url, sockets } = await startServer([authenticated, ready], { closes: false })
  const { pool, errors } = open(url)
  const client = await pool.connect()
  const [ended, removed] = [once(client, 'end'), once(pool, 'remove')]
  client.release()
  await vi.advanceTimersByTimeAsync(idleMs)
  await once(sockets[0] as Socket, 'end')
  await vi.advanceTimersByTimeAsync(closeMs)
  await Promise.all([ended, removed])
  expect(errors).toEqual([])
})

const idleMs = 1_000

function open(url: string) {
  const errors: string[] = []
  const pool = openPool(url, { max: 1, idleTimeoutMillis: idleMs, onError: ({ message }) => errors.push(message) })
  onTestFinished(() => pool.end())
  return { pool, errors }
}

/**
 * Starts a server that answers each login with these messages in one write, and leaves its side of a connection open
 * unless it `closes`. A real server cannot be made to do so.
 */
async function startServer(answer: readonly Buffer[], { closes = true } = {}) {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: !closes }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => socket.write(Buffer.concat(answer)))
    onTestFinished(() => void socket.destroy())
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `postgresql://user@127.0.0.1:${(server.address() as AddressInfo).port}/test`, sockets }
}

/** Returns a message: its type, its length and its content. */
function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(content.length + 4)
  return Buffer.concat([Buffer.from(type), length, content])
}
