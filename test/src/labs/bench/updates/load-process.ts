// A process that sends profile updates. Each connection sends the next one when the preceding one is answered. It
// speaks HTTP without a library, so that it needs less CPU than the servers that it measures. Prints a `LoadResult`.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { quantile } from '../measuring.ts'

export interface Load {
  url: string
  token: string
  /** Number of users to choose from: `user0` and so on. */
  users: number
  connections: number
  seconds: number
}

/** Latencies in ms. */
export interface LoadResult {
  perSecond: number
  p50: number
  p99: number
}

const load: Load = JSON.parse(process.argv[2] ?? '')
const { hostname, port } = new URL(load.url)
const latencies: number[] = []
const begin = performance.now()
await Promise.all(Array.from({ length: load.connections }, sendUpdates))
const seconds = (performance.now() - begin) / 1000
const { user, system } = process.cpuUsage()
assert((user + system) / 1e6 < 0.9 * seconds, 'the load itself is the limit')
const result: LoadResult = {
  perSecond: latencies.length / seconds,
  p50: quantile(latencies, 0.5),
  p99: quantile(latencies, 0.99),
}
console.log(JSON.stringify(result))

async function sendUpdates(): Promise<void> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  let received = ''
  let sentAt = 0
  const send = () => {
    received = ''
    sentAt = performance.now()
    socket.write(nextRequest())
  }
  socket.on('connect', send)
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    const [head = '', body] = received.split('\r\n\r\n')
    if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1])) return
    assert(head.startsWith('HTTP/1.1 202 '), received)
    const now = performance.now()
    latencies.push(now - sentAt)
    if (now < begin + load.seconds * 1000) send()
    else socket.end()
  })
  await once(socket, 'close')
}

function nextRequest(): string {
  const body = JSON.stringify({
    user_id: `user${Math.floor(Math.random() * load.users)}`,
    user_profiles: [
      { key: 'plan', type: 'string', value: `plan ${latencies.length}` },
      { key: 'visits', type: 'int', value: latencies.length },
      { key: 'last_seen', type: 'datetime', value: '2026-01-01T10:00:00+09:00' },
    ],
  })
  const headers = `Host: bench\r\nX-Service-Token: ${load.token}\r\nContent-Type: application/json\r\n`
  return `POST /v2/user_profiles HTTP/1.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
}
