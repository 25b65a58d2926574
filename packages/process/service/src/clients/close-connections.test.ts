import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { closeConnections } from './close-connections.ts'
import { createClientServer } from './server.ts'

// A process that stops closes its server like this. test/src/api-limits/hardening.long.test.ts stops the API.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  return () => void vi.useRealTimers()
})

/** Starts a server that is about to close, with one request in flight. */
async function closeDuringRequest(): Promise<{ closed: Promise<unknown>; response: ServerResponse; client: Socket }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const requested = once(server, 'request')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void client.destroy())
  client.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n')
  const [, response] = await requested
  closeConnections(server)
  const closed = once(server, 'close')
  server.close()
  return { closed, response, client }
}

test('a connection is closed when its request has ended, though the client would keep it', async () => {
  const { closed, response, client } = await closeDuringRequest()
  vi.advanceTimersByTime(5_000)
  response.end('the answer')
  const [answer] = await once(client, 'data')
  expect(String(answer)).toContain('the answer')
  vi.advanceTimersByTime(50)
  await closed
})

test('a connection whose request does not end is closed after ten seconds', async () => {
  const { closed, response, client } = await closeDuringRequest()
  vi.advanceTimersByTime(9_900)
  expect(response.destroyed).toBe(false)
  vi.advanceTimersByTime(200)
  await closed
  await once(client, 'close')
})

test('a connection without a request is closed at once; one that has begun to send a request is not', async () => {
  const server = createClientServer(() => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const open = async () => {
    const accepted = once(server, 'connection')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(() => void client.destroy())
    const [socket] = (await accepted) as [Socket]
    return { client, socket }
  }
  const [silent, begun] = [await open(), await open()]
  begun.client.write('GET / HTTP/1.1\r\n')
  await vi.waitFor(() => expect(begun.socket.bytesRead).toBeGreaterThan(0))
  closeConnections(server)
  const closed = once(server, 'close')
  server.close()
  vi.advanceTimersByTime(50)
  await once(silent.client, 'close')
  expect(begun.socket.destroyed).toBe(false)
  const requested = once(server, 'request')
  begun.client.write('Host: test\r\n\r\n')
  const [, response] = await requested
  response.end()
  vi.advanceTimersByTime(50)
  await closed
})
