import { connect } from 'node:net'

/** Time within which a server must answer or close the connection after the sender has ended its side, ms. */
const longestMs = 30_000
/** Time without an answer after which the sender ends its side, ms: the server may wait for the rest of a request. */
const patienceMs = 400
/** Time without further bytes after which an answer counts as complete, ms. Streams of events never end. */
const idleMs = 1_000

/** What came back on a connection. */
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
  let isOver = false
  const socket = connect(Number(port), hostname)
  const end = (isInTime: boolean) => {
    if (isOver) return
    isOver = true
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
