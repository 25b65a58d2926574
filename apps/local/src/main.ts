// npm start: everything on this machine, in the foreground, until Ctrl-C (design.md §2, npm start).
import './require-node-24.ts'

import { once } from 'node:events'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { printableLines } from '@sluice/client-cli/printable'
import { readSecretFiles } from '@sluice/config'
import { migrate } from '@sluice/database'
import {
  type AppDefinition,
  defaultHome,
  memoryLimits,
  type StackInfo,
  startStack,
  workerCount,
} from '@sluice/local-stack'
import { migrateQueue } from '@sluice/queue'
import { firstHourLimits, nextSteps } from './first-hour.ts'

const home = resolve(process.env.SLUICE_HOME || defaultHome)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
  })
}
// The demo and tests start this process with a channel. If the parent is killed, the channel closes and the stack
// stops.
process.once('disconnect', () => stopping.abort())

try {
  const env = readSecretFiles(process.env)
  const isTerminal = process.stdout.isTTY
  const stack = await startStack({
    home,
    env: isTerminal ? { ...firstHourLimits, ...env } : env,
    apps: apps(),
    log: (line) => console.error(line),
    signal: stopping.signal,
    async prepare({ DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl }) {
      await migrate(databaseUrl)
      await migrateQueue(redisUrl ? { redisUrl } : { databaseUrl })
    },
  })
  print(stack.info)
  const steps = isTerminal && (await nextSteps(stack.info, home, !env.DATABASE_URL, stopping.signal))
  if (steps && !stopping.signal.aborted) console.log(steps)
  await aborted(stopping.signal)
  await stack.stop()
} catch (error) {
  // An aborted start is not a failure: startStack has stopped everything.
  if (error !== stopping.signal.reason) {
    console.error(printableLines(error instanceof Error ? error.message : String(error)))
    process.exit(1)
  }
}
process.exit(0)

// design.md §2, Ports.
function apps(): AppDefinition[] {
  const entry = (app: string) => fileURLToPath(new URL(`../../${app}/src/main.ts`, import.meta.url))
  return [
    {
      name: 'api',
      entry: entry('api'),
      count: 1,
      nodeOptions: memoryLimits.api,
      web: { prefix: 'API', port: 3000 },
    },
    {
      name: 'dashboard',
      entry: entry('dashboard'),
      count: 1,
      web: { prefix: 'DASHBOARD', port: 3001 },
      // The dashboard strips the types from the browser's scripts, and Node warns at every start that this is
      // experimental.
      nodeOptions: ['--disable-warning=ExperimentalWarning'],
    },
    {
      name: 's3_gateway',
      entry: entry('s3-gateway'),
      count: 1,
      nodeOptions: memoryLimits['s3-gateway'],
      web: { prefix: 'S3_GATEWAY', port: 3006 },
    },
    { name: 'worker', entry: entry('worker'), count: workerCount(process.env), nodeOptions: memoryLimits.worker },
  ]
}

function print(info: StackInfo): void {
  const lines = {
    API: info.api,
    Dashboard: info.dashboard,
    'S3 gateway': info.s3_gateway,
    Storage: info.storage,
    Inbox: info.inbox,
    Metrics: `/metrics on the ports ${metricsPorts(info)}`,
    Data: home,
  }
  for (const [name, value] of Object.entries(lines)) if (value) console.log(`${name.padEnd(12)}${value}`)
  console.log('ready')
}

/** Returns such as `9101 (api), 9102, 9103 (worker)`; `stack.json` has the ports after a restart. */
function metricsPorts({ metrics }: StackInfo): string {
  return Object.entries(metrics)
    .map(([name, urls]) => `${urls.map((url) => new URL(url).port).join(', ')} (${name})`)
    .join(', ')
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}
