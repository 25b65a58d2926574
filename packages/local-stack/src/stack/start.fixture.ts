import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { AppDefinition } from './app-process.ts'
import type { Environment } from './settings.ts'
import { type RunningStack, type StackOptions, startStack } from './start.ts'

/** Path of the app that test stacks run. */
export const entry = fileURLToPath(new URL('app.fixture.ts', import.meta.url))

/** The app that a test stack runs if the test names no apps. */
export const api: AppDefinition = { name: 'api', entry, count: 1, web: { prefix: 'API', port: 3000 } }

/** Settings that let the stack choose every port. */
export const anyPorts = { API_PORT: '0', STORAGE_PORT: '0', INBOX_PORT: '0', SMTP_PORT: '0', POSTGRES_PORT: '0' }

/**
 * Settings with every part outside the stack, so that the stack runs only apps. No test connects to these addresses.
 */
export const outside: Environment = {
  ...anyPorts,
  DATABASE_URL: 'postgres://somebody@127.0.0.1:1/outside',
  S3_ENDPOINT: 'http://127.0.0.1:1',
  SMTP_URL: 'smtp://127.0.0.1:1',
  ENCRYPTION_KEYS: 'of a deployment',
}

/** Starts stacks on an empty folder. */
export interface StackFixture {
  home: string
  start(options: Partial<StackOptions>): Promise<RunningStack>
  /** Stops every stack, and removes the folder. */
  close(): Promise<void>
}

/** Opens a fixture with a new folder. Its stacks run {@link api} with the settings {@link outside} by default. */
export async function openStackFixture(): Promise<StackFixture> {
  const home = await mkdtemp(join(tmpdir(), 'sluice-stack-'))
  const stacks: RunningStack[] = []
  return {
    home,
    async start(options) {
      const backoff = { firstMs: 20, maxMs: 200, steadyMs: 60_000 }
      const stack = await startStack({ home, env: outside, apps: [api], log: () => {}, backoff, ...options })
      stacks.push(stack)
      return stack
    },
    async close() {
      for (const stack of stacks.splice(0)) await stack.stop()
      await rm(home, { recursive: true })
    },
  }
}

/** Connects to Postgres. Throws if it does not answer. */
export async function query(url: string): Promise<'up'> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  await client.query('select 1')
  await client.end()
  return 'up'
}
