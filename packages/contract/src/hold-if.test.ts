import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundLabels, holdBounds, holdIfOf, holdIfText, holdReasonText, parseHoldIf } from './hold-if.ts'
import { JsonNumber } from './json-object.ts'

// changes.md §2, Asking for it.
describe('the bounds of a check', () => {
  test.each([
    ['always', 'always'],
    ['never', 'never'],
    [
      { failed_percent: 0, changed_percent: 100, removed_percent: 0.5, new_keys: 0 },
      { failed_percent: 0, changed_percent: 100, removed_percent: 0.5, new_keys: 0 },
    ],
    [{ failed_percent: new JsonNumber('1e1') }, { failed_percent: 10 }],
    [{ new_keys: 2 ** 31 }, { new_keys: 2 ** 31 }],
  ])('may be %j', (given, value) => {
    expect(parseHoldIf(given)).toEqual({ value })
  })

  const names = 'failed_percent, changed_percent, removed_percent, new_keys'
  test.each([
    ['often', `must be always, never, or an object with at least one of ${names}`],
    [null, 'must be always, never, or an object'],
    [[], 'must be always, never, or an object'],
    [{}, 'must be always, never, or an object'],
    [7, 'must be always, never, or an object'],
    [{ new_keys: 1, rows: 1 }, `must have no member except ${names}`],
    [{ failed_percent: 100.1 }, 'failed_percent must be a number from 0 to 100'],
    [{ changed_percent: -0.1 }, 'changed_percent must be a number from 0 to 100'],
    [{ removed_percent: '20' }, 'removed_percent must be a number from 0 to 100'],
    [{ failed_percent: null }, 'failed_percent must be a number from 0 to 100'],
    [{ new_keys: -1 }, 'new_keys must be a whole number of at least 0'],
    [{ new_keys: 1.5 }, 'new_keys must be a whole number of at least 0'],
    [{ new_keys: '1' }, 'new_keys must be a whole number of at least 0'],
    [{ new_keys: new JsonNumber('0.1e400') }, 'new_keys must be a whole number of at least 0'],
  ])('must not be %j', (given, problem) => {
    expect(parseHoldIf(given)).toEqual({ problem: expect.stringContaining(problem) })
  })

  test.each([
    ['always', 'always'],
    ['never', 'never'],
    ['changed_percent=20', { changed_percent: 20 }],
    [' failed_percent  =  12.25  ,  new_keys=0 ', { failed_percent: 12.25, new_keys: 0 }],
  ])('may be typed as %j', (text, holdIf) => {
    expect(holdIfOf(text)).toEqual(holdIf)
  })

  test.each([
    '',
    'often',
    'new_keys',
    'new_keys=',
    'new_keys=1,',
    'new_keys=-1',
    'new_keys=1.',
    'new_keys=x',
    'new_keys=1 x',
    'x new_keys=1',
    '=1',
    'rows=1',
    'failed_percent=101',
  ])('must not be typed as %j', (text) => {
    expect(holdIfOf(text)).toBeUndefined()
  })

  test('are read as they are shown', () => {
    const percent = fc.integer({ min: 0, max: 1000 }).map((tenths) => tenths / 10)
    const members = { failed_percent: percent, changed_percent: percent, removed_percent: percent, new_keys: fc.nat() }
    const bounds = fc.record(members, { requiredKeys: [] }).filter((given) => Object.keys(given).length > 0)
    fc.assert(
      fc.property(fc.oneof(bounds, fc.constantFrom('always', 'never')), (holdIf) => {
        expect(holdIfOf(holdIfText(holdIf))).toEqual(holdIf)
      }),
    )
  })
})

test('the reason of a held import names what was found, and the bound', () => {
  for (const bound of holdBounds) {
    expect(boundLabels[bound]).toMatch(/^(Percent|Number) of /)
    expect(holdReasonText(`${bound} is 12.5, over 10`)).toBe(`${boundLabels[bound]}: 12.5, more than 10`)
  }
})

test.each(['always', 'rows is 3, over 2', 'x new_keys is 3, over 2', 'new_keys is 3, over 2 x'])(
  'the reason %j of a held import is that somebody asked for it',
  (reason) => {
    expect(holdReasonText(reason)).toContain('asked for')
  },
)
