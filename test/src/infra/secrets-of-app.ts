import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nodeEnvironment } from '../environment/program.ts'

/** Settings that are secret or contain a password. */
export const secrets = [
  'DATABASE_URL',
  'MIGRATION_DATABASE_URL',
  'REDIS_URL',
  'REDIS_SENTINELS',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'SMTP_URL',
  'SMTP_OAUTH2_CLIENT_SECRET',
  'SMTP_OAUTH2_REFRESH_TOKEN',
  'ENCRYPTION_KEYS',
  'OIDC_CLIENT_SECRET',
] as const

/** Apps that run as deployments. */
export const appNames = ['api', 'worker', 'dashboard', 's3-gateway'] as const

/**
 * Secrets that `sluice migrate` reads. {@link secretsOfApp} cannot determine them, because the command stops at the
 * first invalid setting.
 */
export const secretsOfMigration = ['DATABASE_URL', 'MIGRATION_DATABASE_URL', 'REDIS_SENTINELS', 'REDIS_URL']

/**
 * Determines which secrets an app reads: starts its process with invalid secrets, and returns the secrets that it
 * reports, sorted. The process reports every invalid setting that it reads, and ends.
 */
export async function secretsOfApp(app: (typeof appNames)[number]): Promise<string[]> {
  const bad = { DATABASE_URL: 'x', REDIS_URL: 'x', SMTP_URL: 'x', ENCRYPTION_KEYS: 'x' }
  // These settings may be unset. A missing file makes them invalid.
  const optional = [
    'REDIS_SENTINELS',
    'S3_ACCESS_KEY_ID',
    'S3_SECRET_ACCESS_KEY',
    'SMTP_OAUTH2_CLIENT_SECRET',
    'SMTP_OAUTH2_REFRESH_TOKEN',
    'OIDC_CLIENT_SECRET',
  ]
  const missing = Object.fromEntries(optional.map((name) => [`${name}_FILE`, '/missing']))
  const main = fileURLToPath(new URL(`../../../apps/${app}/src/main.ts`, import.meta.url))
  const said = await new Promise<string>((resolve) => {
    const env = { ...nodeEnvironment, ...bad, ...missing }
    execFile(process.execPath, [main], { env }, (_, __, stderr) => resolve(stderr))
  })
  return secrets.filter((name) => new RegExp(`^ +${name}(?:_FILE)? `, 'm').test(said)).toSorted()
}
