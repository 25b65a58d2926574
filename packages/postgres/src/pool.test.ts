import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
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

function open(url: string) {
  const errors: string[] = []
  const pool = openPool(url, { max: 1, onError: ({ message }) => errors.push(message) })
  onTestFinished(() => pool.end())
  return { pool, errors }
}

/** Starts a server that answers each login with these messages in one write. A real server cannot be made to do so. */
async function startServer(answer: readonly Buffer[]) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => socket.write(Buffer.concat(answer)))
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
