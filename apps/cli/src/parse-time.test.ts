import { expect, test } from 'vitest'
import { parseTime } from './parse-time.ts'

test.each([
  ['2026-03-07', '2026-03-07T00:00:00.000Z'],
  ['2026-03-07T12:30', '2026-03-07T12:30:00.000Z'],
  ['2026-03-07T12:30:15.5+09:00', '2026-03-07T03:30:15.500Z'],
])('the option %s means %s: a time without an offset is in UTC', (text, time) => {
  expect(parseTime(text).toISOString()).toBe(time)
})

test('90m is the time 90 minutes ago', () => {
  const ago = Date.now() - parseTime('90m').getTime()
  expect(ago).toBeGreaterThanOrEqual(5_400_000)
  expect(ago).toBeLessThan(5_460_000)
})

test.each(['yesterday', '2100-13-01T00:00:00Z', '2026-02-30', '7w', '2026-03-07 12:30'])('%s is no time', (text) => {
  expect(() => parseTime(text)).toThrow('It must be a time')
})
