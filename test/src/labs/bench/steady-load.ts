import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { quantile } from './measuring.ts'

export interface LoadTarget {
  url: string
  next(): { headers: Record<string, string>; body: string; onAnswer?(status: number): void }
  /** The expected HTTP status; any other status counts as an error. */
  expected: number
}

/** The results of the requests that were due in a span of time; latency in ms. */
export interface SpanResult {
  requests: number
  p50: number
  p99: number
  max: number
  errors: number
}

/** Requests that are sent at a steady rate, whether or not the preceding ones are answered. */
export interface SteadyLoad {
  /** Returns the results of the requests that were due between two times of `performance.now()`. */
  between(from: number, to: number): SpanResult
  /** Stops sending, and waits for the answers. */
  stop(): Promise<void>
}

/**
 * Sends requests at a steady rate. Latency counts from the time at which a request was due: a server that stalls is
 * charged for all requests that wait for it.
 */
export function steadyLoad(target: LoadTarget, perSecond: number): SteadyLoad {
  const agent = new Agent({ keepAlive: true })
  const answered: { due: number; latency: number; isError: boolean }[] = []
  const inFlight = new Set<Promise<void>>()
  const started = performance.now()
  let isOver = false
  const ask = async (due: number) => {
    const status = await send(target, agent).catch(() => 0)
    answered.push({ due, latency: performance.now() - due, isError: status !== target.expected })
  }
  const sending = (async () => {
    for (let count = 0; !isOver; count++) {
      const due = started + (count * 1000) / perSecond
      const early = due - performance.now()
      if (early > 0) await delay(early)
      const asking = ask(due).finally(() => inFlight.delete(asking))
      inFlight.add(asking)
    }
  })()
  return {
    between(from, to) {
      const span = answered.filter(({ due }) => due >= from && due < to)
      const latencies = span.map(({ latency }) => latency)
      return {
        requests: span.length,
        p50: quantile(latencies, 0.5),
        p99: quantile(latencies, 0.99),
        max: Math.max(0, ...latencies),
        errors: span.filter(({ isError }) => isError).length,
      }
    },
    async stop() {
      isOver = true
      await sending
      await Promise.all(inFlight)
      agent.destroy()
    },
  }
}

/** Sends the next request once. Returns the status of the answer; rejects if there is none. */
function send({ url, next }: LoadTarget, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const { headers, body, onAnswer } = next()
    const sending = request(url, {
      method: 'POST',
      agent,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers },
    })
    sending.on('error', reject)
    sending.on('response', (response) => {
      response.on('error', reject)
      response.on('end', () => {
        onAnswer?.(response.statusCode ?? 0)
        resolve(response.statusCode ?? 0)
      })
      response.resume()
    })
    sending.end(body)
  })
}
