import { ownMemory } from '../../../memory/own-memory.ts'
import { type RunningStack, type StackAccess, startStack } from '../../../stack/running-stack.ts'
import { appNames, openTenant, urlsOf } from '../../hostile/hostile-stack.ts'
import { fuzzedApi } from './api.ts'
import { fuzzedDashboard } from './dashboard.ts'
import { fuzzServer, type ServerRun } from './fuzz.ts'
import type { FuzzedServer } from './request.ts'
import { fuzzedGateway } from './s3-gateway.ts'

/** Rate limits that are high enough to refuse no request. With the default limits, most requests would be refused. */
const highLimits = Object.fromEntries(
  [
    ...['DELETION', 'PROFILE_UPDATE', 'IMPORT_STATUS', 'IMPORT_LIST', 'USER', 'EXPORT_STATUS', 'IMPORT_CANCELLATION'],
    ...['USER_REGISTRATION', 'PROFILE_KEYS', 'KEY_REGISTRATION', 'VALUE_REMOVAL', 'SIGN_IN_CLIENT'],
  ].map((name) => [`RATE_LIMIT_${name}`, '1000000/60s']),
)
/**
 * Rate limits for requests that start an import or an export. They are lower, because such a request keeps workers
 * busy.
 */
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

/** How often memory is measured in a run. */
const measurements = 10
/** The measurement after the warm-up, when caches are full and code is compiled. */
const warmMeasurement = 3
/** How much a process may grow after that: this share of its memory, and this many bytes for the collector's slack. */
const growthShare = 0.15
const growthSlack = 24 * 2 ** 20

/** The result of fuzzing one server. */
export interface ServerReport extends ServerRun {
  server: string
  /** Resident memory after each tenth of the requests, bytes. */
  memory: number[]
  /** What was violated, in words. */
  problems: string[]
}

/** What a run of servers needs to know. */
export interface ServerOptions {
  /** Number of requests in all. */
  requests: number
  seed: number
  /** Names of servers; undefined for all. */
  chosen?: readonly string[] | undefined
  /** Number of the only request to send; undefined for all requests. */
  only?: number | undefined
}

/** Fuzzes the servers of a new stack one after another. */
export async function fuzzServers(options: ServerOptions, report: (done: ServerReport) => void): Promise<void> {
  const stack = await startStack({ env: { ...highLimits, ...importLimits, ...heapLimits } })
  try {
    const servers = (await openServers(stack)).filter(({ name }) => options.chosen?.includes(name) ?? true)
    for (const server of servers) report(await fuzzOne(stack, server, options, servers.length))
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

async function fuzzOne(
  stack: RunningStack,
  server: FuzzedServer,
  { requests: all, seed, only }: ServerOptions,
  servers: number,
): Promise<ServerReport> {
  const requests = Math.ceil(all / servers)
  const before = await processesOf(stack)
  const [pid = 0] = before[server.name] ?? []
  const memory: number[] = []
  const interval = Math.ceil(requests / measurements)
  const run = await fuzzServer(server, {
    requests,
    seed,
    only,
    async onProgress(sent) {
      if (sent % interval === 0) memory.push(await ownMemory(pid))
    },
  })
  const [warm = 0, end = 0] = [memory[warmMeasurement - 1], memory.at(-1)]
  const after = await processesOf(stack)
  const problems = run.violations.slice(0, 5).map(({ number, request, answer }) => {
    return `request ${number}: ${answer.split('\r\n', 1)[0] || 'no answer'}\n${JSON.stringify(request.toString('latin1').slice(0, 3_000))}`
  })
  if (run.violations.length > 5) problems.push(`${run.violations.length - 5} further bad answers`)
  if (JSON.stringify(after) !== JSON.stringify(before))
    problems.push(`processes ended: ${JSON.stringify({ before, after })}`)
  if (warm > 0 && end > warm * (1 + growthShare) + growthSlack) problems.push('its memory grew')
  return { ...run, server: server.name, memory, problems }
}

async function processesOf(stack: RunningStack): Promise<Record<string, number[]>> {
  const { processes } = await stack.info()
  return Object.fromEntries(appNames.map((name) => [name, processes[name.replace('-', '_')] ?? []]))
}
