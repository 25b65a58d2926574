import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { StackInfo } from '@sluice/local-stack'

// What `npm start` adds for a person at a terminal. Programs that start it get the stack as design.md describes it.

/** Limits that somebody who tries things out would reach. A deployment has the defaults of docs/settings.md. */
export const firstHourLimits = {
  RATE_LIMIT_BULK_IMPORT: '1000/10m',
  RATE_LIMIT_BULK_IMPORT_V2: '1000/10m',
  RATE_LIMIT_EXPORT: '1000/10m',
  RATE_LIMIT_SIGN_IN: '100/15m',
  RATE_LIMIT_SIGN_IN_CLIENT: '100/15m',
}

/** The member of the README's session, who is also an operator of the local stack. */
const email = 'you@example.com'

const cli = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))

/**
 * Returns lines for the terminal: where to sign in and read, and how to stop. `ownsDatabase` says that the stack runs
 * the database, so that it may add an operator there.
 */
export async function nextSteps(info: StackInfo, home: string, ownsDatabase: boolean): Promise<string> {
  const lines = {
    'Sign in': (ownsDatabase && (await signInLink(home).catch(() => undefined))) || `${info.dashboard}/sign-in`,
    ...(ownsDatabase && { 'Next link': `npx sluice dashboard link --email ${email}` }),
    Documents: `${info.api}/docs and docs/guide.md`,
    Limits: `higher than in a deployment: ${Object.keys(firstHourLimits).join(', ')}`,
    Stop: 'Ctrl-C',
  }
  return ['', ...Object.entries(lines).map(([name, value]) => `${name.padEnd(12)}${value}`), ''].join('\n')
}

/** Returns a link that signs in an operator, once. */
async function signInLink(home: string): Promise<string> {
  await sluice(home, 'operator', 'add', '--email', email)
  const { stdout } = await sluice(home, 'dashboard', 'link', '--email', email, '--json')
  const { url } = JSON.parse(stdout) as { url: string }
  return `${url} (once, within 15 minutes)`
}

/** Runs a command of `sluice`, so that the audit log has what this process does to the database. */
function sluice(home: string, ...args: string[]) {
  return promisify(execFile)(process.execPath, [cli, ...args], { env: { ...process.env, SLUICE_HOME: home } })
}
