import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ClientPolicy, clientPolicy } from './policy.ts'
import { allowUpload, createClientServer } from './server.ts'

// Each client is a socket. The tested limit is half a second, and no other limit ends a connection within ten minutes.
const soonMs = 500
const neverMs = 600_000
const patient: ClientPolicy = {
  ...clientPolicy,
  headersMs: neverMs,
  keepAliveMs: neverMs,
  body: { minimumBytesPerSecond: 1_000, graceMs: neverMs, totalMs: neverMs },
  upload: { minimumBytesPerSecond: 1_000, graceMs: neverMs, totalMs: neverMs },
  answer: { minimumBytesPerSecond: 1_000, graceMs: neverMs },
  drain: { minimumBytesPerSecond: 1_000, graceMs: neverMs, totalMs: neverMs, bytes: Number.POSITIVE_INFINITY },
}
const slow = { minimumBytesPerSecond: 1_000, graceMs: soonMs, totalMs: neverMs }

/** Opens a server that answers each request by its path. */
async function open(policy: Partial<ClientPolicy>) {
  const seen: string[] = []
  const server = createClientServer(
    (request, response) => {
      seen.push(`${request.method} ${request.url}`)
      answer(request, response)
    },
    { policy: { ...patient, ...policy } },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const send = (bytes: string): Socket => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    socket.write(bytes)
    return socket
  }
  return { send, seen, server }
}

/**
 * Answers `/refused` at once, `/large` with more bytes than the kernel's buffers take, `/upload` with the limits for
 * files, and any other path after its body has arrived.
 */
function answer(request: IncomingMessage, response: ServerResponse): void {
  request.on('error', () => {})
  if (request.url === '/large') {
    response.end(Buffer.alloc(20 * 2 ** 20))
    return
  }
  if (request.url === '/refused') {
    response.writeHead(401).end()
    return
  }
  if (request.url === '/upload') allowUpload(request)
  request.resume().once('end', () => response.writeHead(204).end())
}

const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n`
const get = 'GET /fast HTTP/1.1\r\nHost: a\r\n\r\n'

/** Waits for the first answer of the server. Returns its status line. */
async function firstAnswer(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString().split('\r\n', 1)[0] ?? ''
}

describe('a client that is too slow loses its connection', () => {
  test('if its headers do not end', async () => {
    const { send } = await open({ headersMs: soonMs })
    expect(await text(send('GET / HTTP/1.1\r\nHost: a\r\n'))).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('if no byte of its body arrives', async () => {
    const { send } = await open({ body: slow })
    expect(await text(send(post('/')))).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('if the whole body takes too long', async () => {
    const { send } = await open({ body: { ...slow, graceMs: neverMs, totalMs: soonMs } })
    const socket = send(post('/'))
    const trickle = setInterval(() => socket.write('x'.repeat(100)), 50)
    onTestFinished(() => clearInterval(trickle))
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('if its file arrives more slowly than the limits for files allow', async () => {
    const { send } = await open({ upload: slow })
    expect(await text(send(post('/upload')))).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('if its body continues after the answer', async () => {
    const { send } = await open({ drain: { ...patient.drain, graceMs: soonMs } })
    expect(await text(send(post('/refused')))).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('if it does not read its answer, also if another request waits for that answer', async () => {
    const { send, server } = await open({ answer: slow })
    const socket = send('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2))
    await once(socket, 'readable')
    await vi.waitUntil(async () => (await promisify(server.getConnections.bind(server))()) === 0, { timeout: 10_000 })
  })

  test('if it sends too many bytes after the answer', async () => {
    const { send } = await open({ drain: { ...patient.drain, bytes: 1_000 } })
    const socket = send(post('/refused'))
    socket.write('x'.repeat(2_000))
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /)
  })
})

test('a file may take longer than other bodies', async () => {
  const { send } = await open({ body: slow })
  const [form, file] = [send(post('/')), send(post('/upload'))]
  expect(await text(form)).toMatch(/^HTTP\/1\.1 408 /)
  file.write('x'.repeat(100_000))
  expect(await firstAnswer(file)).toBe('HTTP/1.1 204 No Content')
})

test('after the end of a refused body, the connection serves the next request', async () => {
  const { send } = await open({})
  const socket = send(post('/refused'))
  expect(await firstAnswer(socket)).toBe('HTTP/1.1 401 Unauthorized')
  socket.write('x'.repeat(100_000) + get)
  expect(await firstAnswer(socket)).toBe('HTTP/1.1 204 No Content')
})

test('many clients that connect at the same time, for example through one proxy, are all served', async () => {
  const { send, server } = await open({ waiting: { perAddress: 5, patienceMs: neverMs } })
  const sockets: Socket[] = []
  for (let client = 0; client < 40; client++) {
    const accepted = once(server, 'connection')
    sockets.push(send(''))
    await accepted
  }
  const answers = sockets.map((socket) => {
    socket.write(get)
    return firstAnswer(socket)
  })
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['HTTP/1.1 204 No Content']))
})

test('an address with too many waiting connections loses the oldest of them, and its other requests are served', async () => {
  const { send } = await open({ waiting: { perAddress: 10, patienceMs: 0 } })
  const served = send(post('/upload'))
  const stalled = Array.from({ length: 10 }, () => send('GET / HTTP/1.1\r\nHost: a\r\n'))
  const ends = stalled.map((socket) => once(socket, 'close'))
  for (let request = 0; request < 10; request++) {
    expect(await firstAnswer(send(get)), `request ${request}`).toBe('HTTP/1.1 204 No Content')
  }
  await Promise.all(ends)
  served.write('x'.repeat(100_000))
  expect(await firstAnswer(served), 'a request that was being served meanwhile').toBe('HTTP/1.1 204 No Content')
})

describe('requests that a proxy could read differently never reach the listener', () => {
  test.each([
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['the same host twice', 'GET / HTTP/1.1\r\nHost: a\r\nHOST: a\r\n\r\n'],
    ['two hosts in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
    ['HTTP/0.9 with a body', 'POST /\r\nContent-Length: 3\r\n\r\nabc'],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n'],
  ])('%s', async (_, request) => {
    const { send, seen } = await open({})
    expect(await text(send(request))).toMatch(/^HTTP\/1\.1 400 /)
    expect(seen).toEqual([])
  })

  test('HTTP/1.0 needs no host', async () => {
    const { send } = await open({})
    expect(await text(send('GET / HTTP/1.0\r\n\r\n'))).toMatch(/^HTTP\/1\.1 204 /)
  })
})
