import { Agent, request } from 'node:http'
import { quantile } from './statistics.ts'

/** A source of requests, which clients send one after another to `url`. */
export interface LoadTarget {
  url: string
  /** Returns the next request. */
  next(): { headers: Record<string, string>; body: string }
  /** The expected HTTP status; any other status counts as an error. */
  expected: number
}

/** The result of a wave of load; latency in ms. */
export interface LoadResult {
  perSecond: number
  median: number
  p99: number
  errors: number
}

/**
 * Makes `clients` clients send requests for `durationMs`. Each client sends its next request when the last one is
 * answered, on a connection that stays open.
 */
export async function load(target: LoadTarget, clients: number, durationMs: number): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const latencies: number[] = []
  let errors = 0
  const started = performance.now()
  const client = async () => {
    while (performance.now() - started < durationMs) {
      const sent = performance.now()
      const status = await send(target, agent).catch(() => 0)
      if (status === target.expected) latencies.push(performance.now() - sent)
      else errors++
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - started) / 1000
  agent.destroy()
  return {
    perSecond: latencies.length / seconds,
    median: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    errors,
  }
}

/** Sends the next request once. Returns the status of the answer; rejects if there is none. */
export function send({ url, next }: LoadTarget, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const { headers, body } = next()
    const sending = request(url, {
      method: 'POST',
      agent,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers },
    })
    sending.on('error', reject)
    sending.on('response', (response) => {
      response.on('error', reject)
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.resume()
    })
    sending.end(body)
  })
}
