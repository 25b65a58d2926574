import { expect, test } from 'vitest'
import { bytes, count, counted, duration, shortDatetime, time } from './format.ts'

test.each([
  [count(1234567), '1,234,567'],
  [counted(1, 'row'), '1 row'],
  [counted(0, 'row'), '0 rows'],
  [counted(2000, 'person', 'people'), '2,000 people'],
  [bytes(0), '0 bytes'],
  [bytes(1023), '1,023 bytes'],
  [bytes(1536), '1.5 KB'],
  [bytes(150 * 2 ** 20), '150 MB'],
  [bytes(5 * 2 ** 40), '5,120 GB'],
  [shortDatetime('2026-03-07 00:00:00.000'), '2026-03-07'],
  [shortDatetime('2026-03-07 00:00:01.000'), '2026-03-07 00:00:01'],
  [shortDatetime('2026-03-07 00:00:00.500'), '2026-03-07 00:00:00.500'],
  [duration(340), '340 ms'],
  [duration(12_400), '12 s'],
  [duration(185_000), '3 min 5 s'],
  [duration(7_800_000), '2 h 10 min'],
])('%s', (shown, expected) => {
  expect(shown).toBe(expected)
})

test('a time is rendered in UTC, and a script converts it to the reader’s time zone', () => {
  const moment = new Date('2026-03-07T23:59:30Z')
  expect(time(moment).text).toBe(
    '<time datetime="2026-03-07T23:59:30.000Z" data-form="full">2026-03-07 23:59 UTC</time>',
  )
  expect(time(moment, 'day').text).toContain('>2026-03-07<')
})
