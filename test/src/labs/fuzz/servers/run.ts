import fc from 'fast-check'
import { ownMemory } from '../../../memory/peak-memory.ts'
import { type RunningStack, type StackAccess, startStack } from '../../../stack/running-stack.ts'
import { appNames, openTenant, urlsOf } from '../../hostile/hostile-stack.ts'
import { fuzzedApi } from './api.ts'
import { fuzzedDashboard } from './dashboard.ts'
import { changedRequest, changesFor, type Exchange, exchange, type FuzzedServer } from './request.ts'
import { fuzzedGateway } from './s3-gateway.ts'

/** Rate limits that are high enough to refuse no request. With the default limits, most requests would be refused. */
const highLimits = Object.fromEntries(
  [
    ...['DELETION', 'PROFILE_UPDATE', 'IMPORT_STATUS', 'IMPORT_LIST', 'USER', 'EXPORT_STATUS', 'IMPORT_CANCELLATION'],
    ...['USER_REGISTRATION', 'PROFILE_KEYS', 'KEY_REGISTRATION', 'VALUE_REMOVAL', 'SIGN_IN_CLIENT'],
  ].map((name) => [`RATE_LIMIT_${name}`, '1000000/60s']),
)
/** Lower rate limits for requests that start an import or an export, because such a request keeps workers busy. */
const importLimits = {
  RATE_LIMIT_BULK_IMPORT: '300/60s',
  RATE_LIMIT_BULK_IMPORT_V2: '300/60s',
  RATE_LIMIT_BUCKET_IMPORT: '300/60s',
  RATE_LIMIT_DASHBOARD_IMPORT: '300/60s',
  RATE_LIMIT_EXPORT: '60/60s',
}
/**
 * The limits of the heap in a container of the chart's size, where Node sets them itself. On a large machine, Node
 * would postpone its collections, and memory would grow without a leak.
 */
const heapLimits = { NODE_OPTIONS: '--max-old-space-size=256 --max-semi-space-size=16' }

const connections = 32
/** Number of requests between two renewals of the valid requests. */
const requestsPerRenewal = 2_000
/** The share of requests that warm up a process: caches are full and code is compiled. */
const warmUp = 0.3
/** How much a process may grow after that: this share of its memory, and this many bytes for the collector's slack. */
const growthShare = 0.15
const growthSlack = 24 * 2 ** 20

/** What a run of servers needs to know. `only` is the number of the only request to send. */
interface ServerOptions {
  requests: number
  seed: number
  isChosen: (name: string) => boolean
  only?: number | undefined
}

/** Fuzzes the chosen servers of a new stack one after another. Yields figures and problems of each in words. */
export async function* fuzzServers({ requests: all, seed, isChosen, only }: ServerOptions) {
  const stack = await startStack({ env: { ...highLimits, ...importLimits, ...heapLimits } })
  try {
    const servers = (await openServers(stack)).filter(({ name }) => isChosen(name))
    for (const server of servers) {
      const before = await processesOf(stack)
      const [pid = 0] = before[server.name] ?? []
      const requests = Math.ceil(all / servers.length)
      const warm = await fuzzServer(server, { requests: Math.ceil(requests * warmUp), seed, only })
      const warmMemory = await ownMemory(pid)
      const rest = await fuzzServer(server, { requests: only === undefined ? requests : 0, seed: seed + 1 })
      const memory = await ownMemory(pid)
      const after = await processesOf(stack)
      const problems = [...warm.violations, ...rest.violations].slice(0, 5)
      if (JSON.stringify(after) !== JSON.stringify(before)) {
        problems.push(`processes ended: ${JSON.stringify({ before, after })}`)
      }
      if (memory > warmMemory * (1 + growthShare) + growthSlack) {
        problems.push(`its memory grew from ${warmMemory} to ${memory} bytes`)
      }
      const figures = JSON.stringify(Object.fromEntries(rest.statuses))
      yield { server: server.name, figures: `answers by status ${figures}`, problems }
    }
  } finally {
    await stack.stop()
  }
}

/** Opens the servers of a stack, each with an app of its own. */
export async function openServers(stack: StackAccess): Promise<FuzzedServer[]> {
  const { api, dashboard } = await urlsOf(stack)
  const tenant = async () => await openTenant(stack, ['u1', 'u2', 'alice', 'bob'])
  return [
    fuzzedApi(api, await tenant()),
    fuzzedDashboard(stack, dashboard, await tenant()),
    fuzzedGateway(await tenant()),
  ]
}

/**
 * Sends changed requests to a server. Returns the number of answers by status, 0 for connections that were closed
 * without an answer, and the requests that were not answered as documented.
 */
export async function fuzzServer(
  server: FuzzedServer,
  { requests, seed, only }: { requests: number; seed: number; only?: number | undefined },
): Promise<{ statuses: Map<number, number>; violations: string[] }> {
  const statuses = new Map<number, number>()
  const violations: string[] = []
  const changes = [...fc.sample(changesFor(server), { numRuns: requests, seed }).entries()].filter(
    ([number]) => only === undefined || only === number,
  )
  while (changes.length > 0) {
    const valid = await server.validRequests()
    const round = changes.splice(0, requestsPerRenewal)
    const send = async () => {
      for (let next = round.shift(); next !== undefined; next = round.shift()) {
        const [number, change] = next
        const request = changedRequest(server, valid, change)
        const answered = await exchange(server.url, request)
        const status = answered.status ?? -1
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (isDocumented(server, request, answered)) continue
        const sent = JSON.stringify(request.toString('latin1').slice(0, 3_000))
        violations.push(
          `request ${number} of seed ${seed}: ${answered.answer.split('\r\n', 1)[0] || 'no answer'}\n${sent}`,
        )
      }
    }
    await Promise.all(Array.from({ length: connections }, send))
  }
  return { statuses, violations }
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

async function processesOf(stack: RunningStack): Promise<Record<string, number[]>> {
  const { processes } = await stack.info()
  return Object.fromEntries(appNames.map((name) => [name, processes[name.replace('-', '_')] ?? []]))
}
