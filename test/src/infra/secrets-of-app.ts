import { appNames, refusals } from '../environment/refused-settings.ts'

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

/**
 * Secrets that `sluice migrate` reads. {@link secretsOfApps} cannot determine them, because the command stops at the
 * first invalid setting.
 */
export const secretsOfMigration = ['DATABASE_URL', 'MIGRATION_DATABASE_URL', 'REDIS_SENTINELS', 'REDIS_URL']

/**
 * Determines which secrets each app reads: starts the apps with invalid secrets, and returns the secrets that they
 * report, sorted. An app reports every invalid setting that it reads, and would end its process.
 */
export async function secretsOfApps(): Promise<ReadonlyMap<string, string[]>> {
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
  const reports = await refusals(appNames, { ...bad, ...missing })
  const reported = (report: string) => secrets.filter((name) => new RegExp(`^ +${name}(?:_FILE)? `, 'm').test(report))
  return new Map([...reports].map(([app, report]) => [app, reported(report).toSorted()]))
}
