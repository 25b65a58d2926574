import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const main = fileURLToPath(new URL('main.ts', import.meta.url))
const ports = [
  'API_PORT',
  'DASHBOARD_PORT',
  'S3_GATEWAY_PORT',
  'STORAGE_PORT',
  'INBOX_PORT',
  'SMTP_PORT',
  'POSTGRES_PORT',
]
const anyPorts = Object.fromEntries(ports.map((port) => [port, '0']))

/** Starts the app in the folder `home`. It ends with the test at the latest. */
export function start(home: string, env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      SLUICE_HOME: home,
      ...anyPorts,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Returns the lines of stdout before the line `ready`. */
export async function linesUntilReady(child: ChildProcess): Promise<string[]> {
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout ?? process.stdin })) {
    if (line === 'ready') return lines
    lines.push(line)
  }
  throw new Error(`the process ended early: ${lines.join('\n')}`)
}
