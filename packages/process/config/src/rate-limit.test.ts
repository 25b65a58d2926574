import { expect, test } from 'vitest'
import { readSettings } from './read.ts'

const read = (text: string) => readSettings({ RATE_LIMIT_SIGN_IN: text }, ['RATE_LIMIT_SIGN_IN']).RATE_LIMIT_SIGN_IN

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
  '10/36501d',
  '10/106751991168d',
])('refuses the rate "%s"', (text) => {
  expect(() => read(text)).toThrow('must be a rate in whole seconds such as 1000/60s or 10/10m')
})
