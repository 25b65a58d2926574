import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** The bytes received on a connection. */
export interface RawAnswer {
  /** Undefined if the connection ended without an answer. */
  status: number | undefined
  /** Headers by lower-case name. */
  headers: Record<string, string>
  body: string
  /** How long the connection lasted, ms. */
  tookMs: number
}

/**
 * Sends bytes unchanged, piece by piece with `pause` ms between them, and reads until the server closes the connection.
 *
 * Throws if it does not close within 60 s.
 */
export async function sendRaw(
  url: string,
  pieces: Iterable<string | Buffer>,
  { pause = 0 }: { pause?: number } = {},
): Promise<RawAnswer> {
  const begun = performance.now()
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received: Buffer[] = []
  socket.on('data', (chunk) => received.push(chunk))
  socket.on('error', () => {}) // The server may close the connection while bytes are in flight.
  // `once` would throw that error although the answer has arrived.
  const { promise: closed, resolve, reject } = Promise.withResolvers<void>()
  socket.once('close', () => resolve())
  const limit = setTimeout(() => reject(new Error(`${url} does not hang up`)), 60_000)
  try {
    await Promise.all([closed, write(socket, pieces, pause)])
  } finally {
    clearTimeout(limit)
    socket.destroy()
  }
  return { ...parse(Buffer.concat(received).toString()), tookMs: performance.now() - begun }
}

async function write(socket: Socket, pieces: Iterable<string | Buffer>, pause: number): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return
    socket.write(piece)
    if (pause > 0) await delay(pause)
  }
}

function parse(text: string): Omit<RawAnswer, 'tookMs'> {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]
  const headers = lines.map((line) => {
    const [name = '', ...value] = line.split(': ')
    return [name.toLowerCase(), value.join(': ')] as const
  })
  return {
    status: status === undefined ? undefined : Number(status),
    headers: Object.fromEntries(headers),
    body: rest.join('\r\n\r\n'),
  }
}
