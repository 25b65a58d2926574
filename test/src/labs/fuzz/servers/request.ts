import { pick, type Random } from '../../../environment/random.ts'
import { mutated } from '../readers/mutate.ts'

/** A request before it is written. Texts are Latin-1: each character stands for a byte. */
export interface FuzzRequest {
  method: string
  /** The path with the query. */
  target: string
  /** Headers besides `Host`, `Content-Length` and `Connection`. */
  headers: Record<string, string>
  body: Buffer
}

/** A server, with valid requests to start from. */
export interface FuzzedServer {
  name: 'api' | 'dashboard' | 's3-gateway'
  url: string
  /** Texts with a meaning for the server, which mutations insert. */
  dictionary: readonly string[]
  /** Returns valid requests. Called again from time to time, because requests can end their sender's session. */
  validRequests(): Promise<readonly FuzzRequest[]>
  /** Adds a signature, which covers whatever the request has become. Default: none. */
  sign?(request: FuzzRequest): FuzzRequest
}

const httpWords = [
  ...[
    '\r\n',
    '\r\n\r\n',
    '\r',
    '\n',
    ': ',
    ' HTTP/1.1',
    ' HTTP/1.0',
    ' HTTP/2.0',
    'GET /',
    'TRACE',
    'CONNECT',
    'PRI * ',
  ],
  ...['Content-Length: 0', 'Content-Length: -1', 'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip', '0\r\n\r\n'],
  ...[
    'Expect: 100-continue',
    'Upgrade: websocket',
    'Connection: upgrade',
    'Content-Encoding: gzip',
    'Host: ',
    'ffffffff',
  ],
  ...[
    '%00',
    '%',
    '%ff',
    '..',
    '//',
    '?',
    '#',
    '&',
    '=',
    ';',
    '\0',
    '\x7f',
    '\x80',
    '__proto__',
    'constructor',
    '9'.repeat(20),
  ],
]

/** How a valid request is changed. */
const changes = ['none', 'bytes', 'bytes', 'bytes', 'body', 'body', 'target', 'header'] as const

/** Returns the bytes of a request: a valid request with a part changed, or now and then unchanged. */
export function generatedRequest(server: FuzzedServer, valid: readonly FuzzRequest[], random: Random): Buffer {
  const request = pick(valid, random)
  const words = [...httpWords, ...server.dictionary]
  const { host } = new URL(server.url)
  const sign = server.sign ?? ((unsigned) => unsigned)
  const write = (written: FuzzRequest) => bytesOf(sign(written), host)
  const change = (text: Buffer, dictionary: readonly string[]) =>
    mutated({ dictionary, pool: [text, ...valid.map(({ body }) => body)], first: text }, random)
  const changeText = (text: string) => change(Buffer.from(text, 'latin1'), words).toString('latin1')
  switch (pick(changes, random)) {
    case 'none':
      return write(request)
    case 'bytes':
      return change(write(request), words)
    case 'body':
      return write({ ...request, body: change(request.body, server.dictionary) })
    case 'target':
      return write({ ...request, target: withoutBreaks(changeText(request.target)) })
    case 'header': {
      const name = pick(Object.keys(request.headers), random)
      const value = withoutBreaks(changeText(request.headers[name] ?? ''))
      return write({ ...request, headers: { ...request.headers, [name]: value } })
    }
  }
}

/**
 * Removes line breaks, so that a mutated part stays in its line. Mutations of the whole request may add line breaks.
 */
function withoutBreaks(text: string): string {
  return text.replace(/[\r\n]/g, '')
}

/** Returns the bytes of a request, with headers for its length and for the end of the connection after the answer. */
export function bytesOf({ method, target, headers, body }: FuzzRequest, host: string): Buffer {
  const lines = Object.entries({ Host: host, ...headers, 'Content-Length': body.length, Connection: 'close' })
  const head = [`${method} ${target} HTTP/1.1`, ...lines.map((line) => line.join(': '))].join('\r\n')
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), body])
}
