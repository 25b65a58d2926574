import { crc32 } from 'node:zlib'
import { seeded } from '../../../environment/random.ts'
import { type Exchange, exchange } from './exchange.ts'
import { type FuzzedServer, generatedRequest } from './request.ts'

/** Number of connections at a time. */
const connections = 32
/** Number of requests between two renewals of the valid requests. */
const requestsPerRenewal = 2_000

/** A request that was not answered as documented. */
interface BadAnswer {
  server: string
  /** Number of the request in its run. */
  number: number
  request: Buffer
  answer: string
}

/** The result of fuzzing a server. */
export interface ServerRun {
  requests: number
  /** Number of answers by status; 0 for connections that were closed without an answer. */
  statuses: Map<number, number>
  violations: BadAnswer[]
  seconds: number
}

/**
 * Statuses of 500 and above that are documented: S3 answers 501 to what it does not implement, and 503 `SlowDown` if a
 * client exceeds its share. The API and the dashboard answer 503 with `Retry-After` while an app uses its share of
 * uploads, and 503 to `/readyz` while a store does not answer in time.
 */
function isDocumented(server: FuzzedServer, request: Buffer, { status, answer }: Exchange): boolean {
  if (status === undefined) return false
  if (status < 500) return true
  if (server.name !== 's3-gateway') {
    return status === 503 && (/^retry-after: \d+\r$/im.test(answer) || request.toString().startsWith('GET /readyz'))
  }
  // The answer to HEAD has no body, so it cannot name the error. 503 is the status of SlowDown alone.
  const isSlowDown = answer.includes('SlowDown') || request.subarray(0, 5).equals(Buffer.from('HEAD '))
  return status === 501 || (status === 503 && isSlowDown)
}

/**
 * Sends generated requests to a server. Seed and number determine what is mutated and how. With `only`, sends one
 * request. `onProgress` is called after each request.
 */
export async function fuzzServer(
  server: FuzzedServer,
  { requests, seed, only, onProgress }: FuzzServerOptions,
): Promise<ServerRun> {
  const begun = performance.now()
  const run: ServerRun = { requests: 0, statuses: new Map(), violations: [], seconds: 0 }
  const numbers = only === undefined ? Array.from({ length: requests }, (_, number) => number) : [only]
  while (numbers.length > 0) {
    const valid = await server.validRequests()
    const round = numbers.splice(0, requestsPerRenewal)
    const send = async () => {
      for (let number = round.shift(); number !== undefined; number = round.shift()) {
        const random = seeded(crc32(`${server.name} ${seed} ${number}`))
        const request = generatedRequest(server, valid, random)
        const answered = await exchange(server.url, request)
        const { status, answer } = answered
        run.requests++
        run.statuses.set(status ?? -1, (run.statuses.get(status ?? -1) ?? 0) + 1)
        if (!isDocumented(server, request, answered)) {
          run.violations.push({ server: server.name, number, request, answer })
        }
        await onProgress?.(run.requests)
      }
    }
    await Promise.all(Array.from({ length: connections }, send))
  }
  run.seconds = Math.round((performance.now() - begun) / 100) / 10
  return run
}

interface FuzzServerOptions {
  requests: number
  seed: number
  only?: number | undefined
  onProgress?: ((sent: number) => Promise<void>) | undefined
}
