import { connect } from 'node:net'
import fc from 'fast-check'
import { type Edit, edited, editsOf, latin1 } from '../edits.ts'

/** A request before it is written. Texts are Latin-1: each character stands for a byte. */
export interface FuzzRequest {
  method: string
  /** The path with the query. */
  target: string
  /** Headers besides `Host`, `Content-Length` and `Connection`. */
  headers: Record<string, string>
  body: Buffer
}

export interface FuzzedServer {
  name: 'api' | 'dashboard' | 's3-gateway'
  url: string
  /** Texts with a meaning for the server. */
  dictionary: readonly string[]
  /** Returns valid requests. Called again from time to time, because requests can end their sender's session. */
  validRequests(): Promise<readonly FuzzRequest[]>
  /** Adds a signature, which covers whatever the request has become. Default: none. */
  sign?(request: FuzzRequest): FuzzRequest
}

const httpWords = [
  ...['\r\n', '\r\n\r\n', '\r', '\n', ': ', ' HTTP/1.1', ' HTTP/1.0', ' HTTP/2.0', 'GET /', 'TRACE', 'CONNECT'],
  ...['PRI * ', 'Content-Length: 0', 'Content-Length: -1', 'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip'],
  ...['0\r\n\r\n', 'Expect: 100-continue', 'Upgrade: websocket', 'Connection: upgrade', 'Content-Encoding: gzip'],
  ...['Host: ', 'ffffffff', '\0', '\x7f', '\x80', '9'.repeat(20)],
  ...'%00 % %ff .. // ? # & = ; __proto__ constructor'.split(' '),
]

/** How a valid request is changed: which request, which part of it, and how. */
export interface Change {
  request: number
  part: 'nothing' | 'bytes' | 'body' | 'target' | 'header'
  header: number
  edits: Edit[]
}

/** Generates changes for a server. */
export function changesFor({ dictionary }: FuzzedServer): fc.Arbitrary<Change> {
  return fc.record({
    request: fc.nat(),
    part: fc.constantFrom('nothing', 'bytes', 'bytes', 'bytes', 'body', 'body', 'target', 'header'),
    header: fc.nat(),
    edits: editsOf([...httpWords, ...dictionary], [Buffer.from('{"a":[1]}'), Buffer.from('user_id,a\nu1,1\n')]),
  })
}

/** Returns the bytes of one of the valid requests after a change. */
export function changedRequest(server: FuzzedServer, valid: readonly FuzzRequest[], change: Change): Buffer {
  const request = valid[change.request % valid.length]
  if (request === undefined) throw new Error('the server has no valid request')
  const write = (written: FuzzRequest) => bytesOf(server.sign?.(written) ?? written, new URL(server.url).host)
  // Only a change of the whole request may add line breaks.
  const line = (text: string) =>
    edited(latin1(text), change.edits)
      .toString('latin1')
      .replace(/[\r\n]/g, '')
  const [name = ''] = Object.keys(request.headers).slice(change.header % Object.keys(request.headers).length)
  switch (change.part) {
    case 'nothing':
      return write(request)
    case 'bytes':
      return edited(write(request), change.edits)
    case 'body':
      return write({ ...request, body: edited(request.body, change.edits) })
    case 'target':
      return write({ ...request, target: line(request.target) })
    case 'header':
      return write({ ...request, headers: { ...request.headers, [name]: line(request.headers[name] ?? '') } })
  }
}

/** Returns the bytes of a request, with headers for its length and for the end of the connection after the answer. */
export function bytesOf({ method, target, headers, body }: FuzzRequest, host: string): Buffer {
  const lines = Object.entries({ Host: host, ...headers, 'Content-Length': body.length, Connection: 'close' })
  const head = [`${method} ${target} HTTP/1.1`, ...lines.map((line) => line.join(': '))].join('\r\n')
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), body])
}

/** Time within which a server must answer or close the connection after the sender has ended its side, ms. */
const longestMs = 30_000
/** Time without an answer after which the sender ends its side, ms: the server may wait for the rest of a request. */
const patienceMs = 400
/** Time without further bytes after which an answer counts as complete, ms. Streams of events never end. */
const idleMs = 1_000

export interface Exchange {
  /**
   * Status of the answer; 0 if the server closed the connection without an answer; undefined if neither happened in
   * time.
   */
  status: number | undefined
  /** The beginning of the answer. */
  answer: string
}

/** Sends bytes on a new connection and reads the answer. Ends the sending side of the connection if no answer comes. */
export function exchange(url: string, bytes: Buffer): Promise<Exchange> {
  const { hostname, port } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<Exchange>()
  let answer = ''
  const socket = connect(Number(port), hostname)
  const end = (isInTime: boolean) => {
    clearTimeout(limit)
    socket.destroy()
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)
    resolve({ status: isInTime || status > 0 ? status : undefined, answer })
  }
  const limit = setTimeout(() => end(false), longestMs)
  socket.on('data', (chunk) => {
    if (answer.length < 2_000) answer += chunk.toString('latin1')
    socket.removeAllListeners('timeout').setTimeout(idleMs, () => end(true))
  })
  socket.on('error', () => {}) // the server may close the connection while bytes are in flight
  socket.on('close', () => end(true))
  socket.setTimeout(patienceMs, () => void socket.end())
  socket.write(bytes)
  return promise
}
