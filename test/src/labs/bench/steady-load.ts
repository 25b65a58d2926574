import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { type LoadTarget, send } from './load.ts'
import { quantile } from './statistics.ts'

/**
 * A request of a steady load: when it was due, ms of `performance.now()`, and how long after that it was answered, ms.
 */
interface Answered {
  due: number
  latency: number
  isError: boolean
}

/** The results of the requests that were due in a span of time; latency in ms. */
export interface SpanResult {
  requests: number
  p50: number
  p99: number
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
 * Sends requests at a steady rate, alternately to the targets. Latency counts from the time at which a request was due:
 * a server that stalls is charged for all requests that wait for it.
 */
export function steadyLoad(targets: readonly LoadTarget[], perSecond: number): SteadyLoad {
  const agent = new Agent({ keepAlive: true })
  const answered: Answered[] = []
  const inFlight = new Set<Promise<void>>()
  const started = performance.now()
  let isOver = false
  const ask = async (target: LoadTarget, due: number) => {
    const status = await send(target, agent).catch(() => 0)
    answered.push({ due, latency: performance.now() - due, isError: status !== target.expected })
  }
  const sending = (async () => {
    for (let count = 0; !isOver; count++) {
      const due = started + (count * 1000) / perSecond
      const early = due - performance.now()
      if (early > 0) await delay(early)
      const target = targets[count % targets.length]
      if (target === undefined) return
      const asking = ask(target, due).finally(() => inFlight.delete(asking))
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
