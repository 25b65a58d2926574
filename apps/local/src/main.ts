// npm start: everything on this machine, in the foreground, until Ctrl-C.
import './require-node-24.ts'

import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate } from '@sluice/database'
import { type AppDefinition, defaultHome, type StackInfo, startStack, workerCount } from '@sluice/local-stack'

const home = resolve(process.env.SLUICE_HOME || defaultHome)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
  })
}

try {
  const stack = await startStack({
    home,
    env: process.env,
    apps: apps(),
    log: (line) => console.error(line),
    signal: stopping.signal,
    async prepare({ DATABASE_URL = '' }) {
      await migrate(DATABASE_URL)
    },
  })
  print(stack.info)
  await stopRequested(stopping.signal)
  console.log('stopping')
  await stack.stop()
  process.exit(0)
} catch (error) {
  if (stopping.signal.aborted) process.exit(0)
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

function apps(): AppDefinition[] {
  const entry = (app: string) => fileURLToPath(new URL(`../../${app}/src/main.ts`, import.meta.url))
  return [
    { name: 'api', entry: entry('api'), count: 1, web: { prefix: 'API', port: 3000 } },
    { name: 'worker', entry: entry('worker'), count: workerCount(process.env) },
  ]
}

function print(info: StackInfo): void {
  const lines = {
    API: info.api,
    Dashboard: info.dashboard,
    Storage: info.storage,
    Inbox: info.inbox,
    Data: home,
  }
  for (const [name, value] of Object.entries(lines)) if (value) console.log(`${name.padEnd(10)}${value}`)
  console.log('ready')
}

async function stopRequested(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise((aborted) => signal.addEventListener('abort', aborted))
}
