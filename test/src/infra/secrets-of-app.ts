import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Settings that are secret, or hold a password. */
export const secrets = [
  'DATABASE_URL',
  'REDIS_URL',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'SMTP_URL',
  'ENCRYPTION_KEYS',
] as const

/** Apps that run as deployments. */
export const appNames = ['api', 'worker', 'dashboard', 's3-gateway'] as const

/** What `sluice migrate` reads. It reads one setting after the other, so that its first complaint is not its only one. */
export const secretsOfMigration = ['DATABASE_URL', 'REDIS_URL']

/**
 * Finds out which secrets an app reads: starts its process with bad ones, and returns those that it complains about, sorted.
 * The process names every bad setting that it reads, and ends.
 */
export async function secretsOfApp(app: (typeof appNames)[number]): Promise<string[]> {
  const bad = { DATABASE_URL: 'x', REDIS_URL: 'x', SMTP_URL: 'x', ENCRYPTION_KEYS: 'x' }
  const main = fileURLToPath(new URL(`../../../apps/${app}/src/main.ts`, import.meta.url))
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, [main], { env: { PATH: process.env.PATH, ...bad } }, (_, __, stderr) => resolve(stderr))
  })
  return secrets.filter((name) => new RegExp(`^ +${name} `, 'm').test(said)).toSorted()
}
