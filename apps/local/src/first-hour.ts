import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect } from '@sluice/database'
import type { StackInfo } from '@sluice/local-stack'

// What `npm start` adds for a person at a terminal. Programs that start it get the stack as design.md describes it.

/** Limits that somebody who tries things out would reach. A deployment has the defaults of docs/settings.md. */
export const firstHourLimits = {
  RATE_LIMIT_BULK_IMPORT: '1000/10m',
  RATE_LIMIT_BULK_IMPORT_V2: '1000/10m',
  RATE_LIMIT_EXPORT: '1000/10m',
  RATE_LIMIT_SIGN_IN: '100/15m',
  RATE_LIMIT_SIGN_IN_CLIENT: '100/15m',
  RATE_LIMIT_DASHBOARD_EXPORT: '1000/10m',
  RATE_LIMIT_DASHBOARD_IMPORT: '1000/10m',
}

/** The member of the README's session, who is also the first operator of the local stack. */
const email = 'you@example.com'

/** How long a command of `sluice` may take, ms. */
const commandTimeoutMs = 10_000

const cli = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))

/**
 * Returns lines for the terminal: where to sign in and read, and how to stop. `ownsDatabase` says that the stack runs
 * the database, so that it may add an operator there. `signal` ends its commands.
 */
export async function nextSteps(
  info: StackInfo,
  home: string,
  ownsDatabase: boolean,
  signal: AbortSignal,
): Promise<string> {
  const link = ownsDatabase ? await signInLink(info, home, signal).catch(() => undefined) : undefined
  const lines = {
    'Sign in': link ?? `${info.dashboard}/sign-in`,
    ...(link !== undefined && { 'Next link': `npx sluice dashboard link --email ${email}` }),
    Documents: `${info.api}/docs and docs/guide.md`,
    Limits: `higher than in a deployment: ${Object.keys(firstHourLimits).join(', ')}`,
    Stop: 'Ctrl-C',
  }
  return ['', ...Object.entries(lines).map(([name, value]) => `${name.padEnd(12)}${value}`), ''].join('\n')
}

/** Returns a link that signs in {@link email}, once. Throws if nobody with this address may sign in. */
async function signInLink({ database }: StackInfo, home: string, signal: AbortSignal): Promise<string> {
  // An operator who was removed is not added again while there is another one.
  if (!(await hasOperator(database))) await sluice(home, signal, 'operators', 'add', '--email', email)
  const { stdout } = await sluice(home, signal, 'dashboard', 'link', '--email', email, '--json')
  const { url } = JSON.parse(stdout) as { url: string }
  return `${url} (once, within 15 minutes)`
}

async function hasOperator(databaseUrl: string): Promise<boolean> {
  const { db, close } = connect(databaseUrl, { connections: 1 })
  try {
    return (await db.selectFrom('operators').select('email').limit(1).executeTakeFirst()) !== undefined
  } finally {
    await close()
  }
}

/** Runs a command of `sluice`, so that the audit log has what this process does to the database. */
function sluice(home: string, signal: AbortSignal, ...args: string[]) {
  const env = { ...process.env, SLUICE_HOME: home }
  return promisify(execFile)(process.execPath, [cli, ...args], { env, signal, timeout: commandTimeoutMs })
}
