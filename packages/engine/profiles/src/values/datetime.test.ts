import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isNearlyDatetime, parseDatetime } from './datetime.ts'

// service.md, Profile entry; design.md §3, Types.
describe('parseDatetime', () => {
  test.each([
    ['2024-02-29', '2024-02-29 00:00:00.000'],
    ['2024-01-02T03:04', '2024-01-02 03:04:00.000'],
    ['2024-01-02T03:04Z', '2024-01-02 03:04:00.000'],
    ['2024-01-02T03:04:05', '2024-01-02 03:04:05.000'],
    ['2024-01-02T03:04:05.6', '2024-01-02 03:04:05.600'],
    ['2024-01-02T03:04:05,067Z', '2024-01-02 03:04:05.067'],
    ['2024-01-02T03:04:59.9999999Z', '2024-01-02 03:04:59.999'],
    ['2024-01-02T03:04:05+09:00', '2024-01-01 18:04:05.000'],
    ['2024-01-02T03:04+09', '2024-01-01 18:04:00.000'],
    ['2024-12-31T23:30:00.5-00:30', '2025-01-01 00:00:00.500'],
    ['2024-01-02T03:04:05-00:00', '2024-01-02 03:04:05.000'],
    ['2024-03-01T00:00:00+00:01', '2024-02-29 23:59:00.000'],
    ['2023-02-28T12:00-23:59', '2023-03-01 11:59:00.000'],
    ['2000-02-29', '2000-02-29 00:00:00.000'],
    ['0000-02-29', '0000-02-29 00:00:00.000'],
    ['0099-12-31T23:00-01:00', '0100-01-01 00:00:00.000'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31 23:59:59.999'],
  ])('%s is %s in UTC', (text, utc) => {
    expect(parseDatetime(text)).toBe(utc)
  })

  test.each([
    '',
    '2024',
    '2024-01',
    '20240102',
    '2024-1-2',
    '24-01-02',
    '02024-01-02',
    '+2024-01-02',
    '2024/01/02',
    '01.02.2024',
    '2024-W01-1',
    '2024-001',
    '2024-00-01',
    '2024-13-01',
    '2024-01-00',
    '2024-01-32',
    '2024-04-31',
    '2024-06-31',
    '2024-09-31',
    '2024-11-31',
    '2024-02-30',
    '2023-02-29',
    '1900-02-29',
    '2024-01-02T',
    '2024-01-02T03',
    '2024-01-02T0304',
    '2024-01-02T03:4',
    '2024-01-02 03:04',
    '2024-01-02t03:04z',
    '2024-01-02T24:00',
    '2024-01-02T24:00:00Z',
    '2024-01-02T03:60',
    '2024-01-02T03:04:60Z',
    '2024-01-02T03:04:05.',
    '2024-01-02T03:04.5',
    '2024-01-02T03:04:05z',
    '2024-01-02T03:04:05+9',
    '2024-01-02T03:04:05+0900',
    '2024-01-02T03:04:05+24:00',
    '2024-01-02T03:04:05+09:60',
    '2024-01-02T03:04:05 +09:00',
    '2024-01-02Z',
    '2024-01-02+09:00',
    ' 2024-01-02',
    '2024-01-02 ',
    '2024-01-02\n',
    '٢٠٢٤-01-02',
    '2024-01-02T03:04:05ZZ',
    '0000-01-01T00:00+00:01',
    '9999-12-31T23:59-00:01',
    'now',
    '1704164645',
  ])('refuses %j', (text) => {
    expect(parseDatetime(text)).toBeUndefined()
  })

  test.each([
    ['2024-01-02T03:04:05Z', '2024-01-02 03:04:05.000'],
    ['2024-01-02T03:04+01', '2024-01-02 02:04:00.000'],
    ['2024-01-02', undefined],
    ['2024-01-02T03:04:05', undefined],
  ])('if the offset is required, %s is %s', (text, utc) => {
    expect(parseDatetime(text, { requireOffset: true })).toBe(utc)
  })

  test.each([
    ['2026-01-31 09:00', true],
    ['2026-01-31 09:00:00+00', true],
    ['2024-10-27 02:30:00.123456+00', true],
    ['2026-01-31T09:00:00+0130', true],
    ['2026-01-31 09:00:00-0130', true],
    ['2026-01-31 09:00:00Z', true],
    ['2026-01-31T09:00:00Z', false],
    ['2026-01-31', false],
    ['2026-02-30 09:00:00', false],
    ['2026-01-31 09:00:00 +0000', false],
    ['2026-01-31 9:00', false],
    ['31.01.2026 09:00', false],
    ['2026-0131', false],
    ['2026-01-31 ', false],
    ['2026-01-31 09:00:00+2500', false],
  ])('whether %s only lacks the T or the colon of the offset: %s', (text, isNearly) => {
    expect(isNearlyDatetime(text)).toBe(isNearly)
  })

  const instants = fc.date({
    min: new Date('0000-01-02T00:00:00Z'),
    max: new Date('9999-12-30T23:59:59.999Z'),
    noInvalidDate: true,
  })

  test('an instant at any offset is read as the same instant', () => {
    fc.assert(
      fc.property(instants, fc.integer({ min: -1439, max: 1439 }), (instant, offset) => {
        const local = new Date(instant.getTime() + offset * 60_000).toISOString().slice(0, -1)
        const size = Math.abs(offset)
        const two = (number: number) => String(number).padStart(2, '0')
        const text = `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
        expect(parseDatetime(text)).toBe(instant.toISOString().replace('T', ' ').slice(0, -1))
      }),
    )
  })

  test('stored forms are in the order of their instants', () => {
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        const stored = (date: Date) => parseDatetime(date.toISOString()) ?? ''
        expect(stored(a) < stored(b)).toBe(a.getTime() < b.getTime())
      }),
    )
  })

  test('exactly the dates of the calendar exist', () => {
    const four = fc.integer({ min: 0, max: 9999 }).map((year) => String(year).padStart(4, '0'))
    const two = fc.integer({ min: 0, max: 40 }).map((number) => String(number).padStart(2, '0'))
    fc.assert(
      fc.property(four, two, two, (year, month, day) => {
        const text = `${year}-${month}-${day}`
        const date = new Date(`${text}T00:00:00Z`)
        const exists = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
        expect(parseDatetime(text) !== undefined).toBe(exists)
      }),
      { numRuns: 1000 },
    )
  })
})
