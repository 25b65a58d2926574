import { expect, test } from 'vitest'
import { readSettings } from './read.ts'

const read = (text: string) =>
  readSettings({ RATE_LIMIT_BULK_IMPORT: text }, ['RATE_LIMIT_BULK_IMPORT']).RATE_LIMIT_BULK_IMPORT

test.each([
  ['10/600s', 10, 600_000],
  ['10/600', 10, 600_000],
  ['1000/1m', 1000, 60_000],
  ['1/0.5m', 1, 30_000],
])('reads the rate %s', (text, requests, windowMs) => {
  expect(read(text)).toEqual({ requests, windowMs })
})

test.each([
  '10',
  '0/1m',
  '-1/1m',
  '1.5/1m',
  '10/',
  '/1m',
  '10/500ms',
  '10/1.5s',
  '10/0s',
  '10/x',
  '10/1m/1m',
  ' 10/1m',
])('refuses the rate "%s"', (text) => {
  expect(() => read(text)).toThrow('must be a rate in whole seconds such as 1000/60s or 10/10m')
})

test('the rates of the specification are the defaults (service.md, Limits)', () => {
  const names = [
    'RATE_LIMIT_DELETION',
    'RATE_LIMIT_PROFILE_UPDATE',
    'RATE_LIMIT_BULK_IMPORT',
    'RATE_LIMIT_BULK_IMPORT_V2',
  ] as const
  expect(readSettings({}, names)).toMatchObject({
    RATE_LIMIT_DELETION: { requests: 1_000, windowMs: 60_000 },
    RATE_LIMIT_PROFILE_UPDATE: { requests: 1_000, windowMs: 60_000 },
    RATE_LIMIT_BULK_IMPORT: { requests: 10, windowMs: 600_000 },
    RATE_LIMIT_BULK_IMPORT_V2: { requests: 10, windowMs: 600_000 },
  })
})
