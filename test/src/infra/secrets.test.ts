import { readSettings, type SettingName, settings } from '@sluice/config'
import { beforeAll, describe, expect, test } from 'vitest'
import { appNames } from '../environment/refused-settings.ts'
import { secretsGivenTo } from './chart-fixture.ts'
import { services } from './compose-fixture.ts'
import { secrets, secretsOfApps, secretsOfMigration } from './secrets-of-app.ts'

// Each process is given only the secrets that it reads.
let secretsRead: ReadonlyMap<string, string[]>
beforeAll(async () => {
  secretsRead = await secretsOfApps()
})

test.each(appNames)('compose.yaml passes to %s only known settings and exactly the secrets that it reads', (app) => {
  const environment = services[app]?.environment ?? {}
  const names = Object.keys(environment).filter((name): name is SettingName => name in settings)
  expect(names).toEqual(Object.keys(environment))
  expect(() => readSettings(environment, names)).not.toThrow()
  // The compose file has no Sentinels, and no OAuth 2.0.
  const absent = ['REDIS_SENTINELS', 'SMTP_OAUTH2_CLIENT_SECRET', 'SMTP_OAUTH2_REFRESH_TOKEN', 'OIDC_CLIENT_SECRET']
  const needed = secretsRead.get(app)?.filter((name) => !absent.includes(name))
  expect(secrets.filter((name) => name in environment).toSorted()).toEqual(needed)
})

test('compose.yaml passes to the migration only the secrets that it reads', () => {
  const environment = services.migrate?.environment ?? {}
  expect(secrets.filter((name) => name in environment)).toEqual(['DATABASE_URL', 'REDIS_URL'])
})

describe('the Helm chart', () => {
  test.each(appNames)('passes to the pods of %s exactly the secrets that the app reads', (app) => {
    expect(secretsRead.get(app)).toContain('DATABASE_URL')
    expect(secretsGivenTo('Deployment', app)).toEqual(secretsRead.get(app))
  })

  test('passes only the required secrets to the migration, and the encryption keys only to apps that encrypt', () => {
    expect(secretsGivenTo('Job', 'migrate')).toEqual(secretsOfMigration)
    expect(appNames.filter((app) => secretsGivenTo('Deployment', app).includes('ENCRYPTION_KEYS'))).toEqual([
      'worker',
      'dashboard',
      's3-gateway',
    ])
  })
})
