import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { listenOn } from '../environment/free-port.ts'
import { resetSocket } from './harness/tcp-proxy.ts'

test.each(['open', 'ending'] as const)(
  'a connection that is reset while it is %s gives its descriptor back',
  async (state) => {
    const server = createServer((socket) => socket.on('error', () => {}).resume())
    const socket = connect(await listenOn(server), '127.0.0.1')
    await once(socket, 'connect')
    if (state === 'ending') socket.end()
    resetSocket(socket)
    await once(socket, 'close')
    expect(socket.destroyed).toBe(true)
    server.close()
    await once(server, 'close')
  },
)
