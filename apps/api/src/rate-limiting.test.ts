import { unknownSettings } from '@sluice/config'
import { expect, test } from 'vitest'
import { rateSettings, readRates } from './rate-limiting.ts'

// service.md, Limits; second-day.md §3, Exports; changes.md §3, Asking for it.
test('the rates of the specification are the defaults', () => {
  expect(readRates({}).limits).toMatchObject({
    deletion: { requests: 1_000, windowMs: 60_000 },
    profile_update: { requests: 1_000, windowMs: 60_000 },
    bulk_import: { requests: 10, windowMs: 600_000 },
    bulk_import_v2: { requests: 10, windowMs: 600_000 },
    export: { requests: 10, windowMs: 600_000 },
    import_undo: { requests: 100, windowMs: 600_000 },
  })
})

// service.md, Rate rules.
test('the setting of a limit has the name of its function', () => {
  const { limits } = readRates({ RATE_LIMIT_BULK_IMPORT: '3/60s' })
  expect(limits.bulk_import).toEqual({ requests: 3, windowMs: 60_000 })
})

test('no process takes a limit of the API for a misspelt setting, although only the API knows them', () => {
  const names = Object.keys(rateSettings)
  const environment = Object.fromEntries(names.map((name) => [name, '3/60s']))
  expect([unknownSettings(environment), unknownSettings(environment, names)]).toEqual([[], []])
})
