import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { convertValue, offeredForms, possibleForms, type ValueForm, valueForms } from './value-forms.ts'

describe('a number with a decimal comma', () => {
  test.each([
    ['1,5', '1.5'],
    ['-0,05', '-0.05'],
    ['1.234,5', '1234.5'],
    ['1.234.567,89', '1234567.89'],
    ['1 234,5', '1234.5'],
    ['1\u202f234,5', '1234.5'],
    ['1\u00a0234\u00a0567', '1234567'],
    ["1'234,5", '1234.5'],
    ['1’234,5', '1234.5'],
    ['+1,5', '+1.5'],
    ['-12', '-12'],
    ['-1E-05', '-1E-05'],
    ['1,25e3', '1.25e3'],
    ['1.234', '1234'],
    ['12', '12'],
    ['007', '007'],
    [',5', '0.5'],
    ['1,5E+03', '1.5E+03'],
    ['1E+021', '1E+021'],
    ['12E3', '12E3'],
  ])('%s becomes %s', (text, converted) => {
    expect(convertValue(text, 'decimal-comma')).toBe(converted)
  })

  test.each([
    '',
    ',',
    '-',
    '1.5',
    '1,',
    '1,5,2',
    '12.34,5',
    '1.234 567,8',
    '1.2345',
    'n/a',
    '1,5 €',
    ' 1,5',
    '1.234E3',
    'E3',
    'x1E3',
    '1E3x',
    '1E',
    'x1,5',
    '1,5x',
    '1234.567,8',
    '.234,5',
  ])('%j is none', (text) => {
    expect(convertValue(text, 'decimal-comma')).toBeUndefined()
  })

  test('keeps its value, however it is grouped', () => {
    const number = fc.tuple(fc.integer({ min: -1e12, max: 1e12 }), fc.integer({ min: 0, max: 999 }))
    fc.assert(
      fc.property(number, fc.constantFrom('.', ' ', '\u202f', "'", ''), ([whole, fraction], sign) => {
        const grouped = String(whole).replaceAll(/\B(?=(\d{3})+$)/g, sign)
        const converted = convertValue(`${grouped},${String(fraction).padStart(3, '0')}`, 'decimal-comma')
        expect(converted).toBe(`${whole}.${String(fraction).padStart(3, '0')}`)
      }),
    )
  })
})

describe('a date', () => {
  test.each<[ValueForm, string, string]>([
    ['day-first', '31.12.2026', '2026-12-31'],
    ['day-first', '1/2/2026', '2026-02-01'],
    ['day-first', '01-02-2026', '2026-02-01'],
    ['day-first', '31.12.2026 8:05', '2026-12-31T08:05'],
    ['day-first', '31/12/2026 23:59:58', '2026-12-31T23:59:58'],
    ['day-first', '2026-12-31', '2026-12-31'],
    ['day-first', '2026-12-31T10:00Z', '2026-12-31T10:00Z'],
    ['month-first', '12/31/2026', '2026-12-31'],
    ['month-first', '2/1/2026 1:45 PM', '2026-02-01T13:45'],
    ['month-first', '2/1/2026, 12:00 am', '2026-02-01T00:00'],
    ['month-first', '2/1/2026,12:30 PM', '2026-02-01T12:30'],
    ['month-first', '2/1/2026 1:05:09\u202fp.m.', '2026-02-01T13:05:09'],
    ['month-first', '2/1/2026 11:05A.M', '2026-02-01T11:05'],
    ['day-first', '31.12.2026T8:05', '2026-12-31T08:05'],
    ['day-first+02:00', '31/12/2026 14:30', '2026-12-31T14:30+02:00'],
    ['day-first+02:00', '31/12/2026', '2026-12-31'],
    ['day-first+02:00', '2026-12-31T14:30', '2026-12-31T14:30+02:00'],
    ['day-first+02:00', '2026-12-31T14:30Z', '2026-12-31T14:30Z'],
    ['month-first-09:30', '12/31/2026 2:30 PM', '2026-12-31T14:30-09:30'],
  ])('%s: %s becomes %s', (form, text, converted) => {
    expect(convertValue(text, form)).toBe(converted)
  })

  test.each<[ValueForm, string]>([
    ['day-first', '12/31/2026'],
    ['month-first', '31.12.2026'],
    ['day-first', '29.02.2026'],
    ['day-first', '31.12.26'],
    ['day-first', '31.12/2026'],
    ['day-first', '31.12.2026 24:00'],
    ['day-first', '1.1.2026 13:00 PM'],
    ['day-first', '1.1.2026 0:30 AM'],
    ['day-first', '131.12.2026'],
    ['day-first', '31.12.20261'],
    ['day-first', '31.12.2026 8:5'],
    ['day-first', '31.12.2026 8:05:6'],
    ['day-first', '31.12.2026 008:05'],
    ['day-first', 'x31.12.2026'],
    ['day-first', '31.12.2026 8:05 x'],
    ['day-first', 'tomorrow'],
    ['day-first', ''],
  ])('%s: %j is none', (form, text) => {
    expect(convertValue(text, form)).toBeUndefined()
  })

  test.each<[ValueForm, string, string | undefined]>([
    ['date-time', '2024-03-31 02:30:00', '2024-03-31T02:30:00Z'],
    ['date-time+02:00', '2024-03-31 02:30:00', '2024-03-31T02:30:00+02:00'],
    ['date-time-09:30', '2024-03-31 02:30', '2024-03-31T02:30-09:30'],
    ['date-time+02:00', '2024-03-31 02:30:00.123456', '2024-03-31T02:30:00.123456+02:00'],
    ['date-time+02:00', '2024-03-31T02:30:00', '2024-03-31T02:30:00+02:00'],
    ['date-time+02:00', '2024-03-31 02:30:00+01', '2024-03-31T02:30:00+01:00'],
    ['date-time+02:00', '2024-03-31 02:30:00 -0530', '2024-03-31T02:30:00-05:30'],
    ['date-time+02:00', '2024-03-31 02:30:00 UTC', '2024-03-31T02:30:00Z'],
    ['date-time+02:00', '2024-03-31T02:30:00Z', '2024-03-31T02:30:00Z'],
    ['date-time+02:00', '2024-03-31', '2024-03-31'],
    ['date-time+02:00', '2024-03-31 02:30:00,5+0130', '2024-03-31T02:30:00,5+01:30'],
    ['date-time+02:00', '2024-03-31 02:30:00+01:30', '2024-03-31T02:30:00+01:30'],
    ['date-time', '2024-03-31 02:30:00.', undefined],
    ['date-time', 'x2024-03-31 02:30:00', undefined],
    ['date-time', '2024-03-31 02:30:00x', undefined],
    ['date-time', '2024-03-31 02:30:00 UTC+1', undefined],
    ['date-time', '2024-02-30 02:30:00', undefined],
    ['date-time', '31.03.2024 02:30', undefined],
    ['date-time', 'never', undefined],
  ])('%s: %s, as databases write it, becomes %s', (form, text, converted) => {
    expect(convertValue(text, form)).toBe(converted)
  })

  test('may have the offset of any time zone', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      for (const month of [0, 6]) {
        const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
        const name = format
          .formatToParts(new Date(Date.UTC(2026, month, 15)))
          .find(({ type }) => type === 'timeZoneName')
        const offset = name?.value.replace(/GMT(\+00:00)?/, '') ?? ''
        expect(Object.hasOwn(valueForms, `date-time${offset}`), `${zone} ${offset}`).toBe(true)
      }
    }
  })

  test('without an offset is in UTC, or in one of these offsets once', () => {
    expect(Object.keys(valueForms).filter((form) => /00:00$/.test(form))).toEqual([])
    expect(valueForms['date-time']).toContain('in UTC')
    expect(valueForms['date-time-09:30' as keyof typeof valueForms]).toContain('at -09:30')
  })

  test('has a choice of offsets in a column with times, or once one is chosen', () => {
    const offers = (values: string[], form: ValueForm, chosen: ValueForm = 'as-is') =>
      form in offeredForms(values, chosen)
    expect(offers(['31/12/2025', '30/12/2025 14:30'], 'day-first+02:00')).toBe(true)
    expect(offers(['31/12/2025 14:30'], 'month-first+02:00')).toBe(false)
    expect(offers(['31/12/2025'], 'day-first+02:00')).toBe(false)
    expect(offers(['31/12/2025'], 'day-first+02:00', 'day-first+02:00')).toBe(true)
    expect(offers([], 'day-first')).toBe(true)
    expect(offers([], 'date-time+02:00')).toBe(true)
  })

  test('is the same day in either order', () => {
    const date = fc.date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(date, fc.constantFrom('.', '/', '-'), (date, sign) => {
        const iso = date.toISOString().slice(0, 10)
        const [year, month, day] = iso.split('-')
        expect(convertValue([day, month, year].join(sign), 'day-first')).toBe(iso)
        expect(convertValue([Number(month), Number(day), year].join(sign), 'month-first')).toBe(iso)
      }),
    )
  })
})

test.each([
  [['1,5', '', '2'], ['decimal-comma']],
  [['1,5', '1E+021'], ['decimal-comma']],
  [['1,5', 'n/a'], []],
  [[...Array(9).fill('1,5'), 'n/a'], ['decimal-comma']],
  [[...Array(8).fill('1,5'), 'n/a'], []],
  // One form fits all values, and another one fits nearly all.
  [[...Array(9).fill('01.02.2026'), '31.12.2026'], ['day-first']],
  [
    [...Array(9).fill('01.02.2026'), '31.02.2026'],
    ['day-first', 'month-first'],
  ],
  [[...Array(9).fill('2024-03-31T02:30:00'), 'n/a'], []],
  [['1.234', '5.678'], []],
  [['31.12.2026', '01.02.2026'], ['day-first']],
  [['12/31/2026'], ['month-first']],
  [['01/02/2026'], ['day-first', 'month-first']],
  [['2026-01-01', '1', ''], []],
  [['2024-03-31 02:30:00', '2024-03-31'], ['date-time']],
  [['2024-03-31T02:30:00'], []],
  [[], []],
] as const)('the values %j may be written in %j', (values, forms) => {
  expect(possibleForms(values)).toEqual(forms)
})
