import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CheckCounts, holdReasons } from './hold-reasons.ts'

const none: CheckCounts = { rows: 0, failed: 0, changing: 0, removing: 0, newKeys: 0 }

// changes.md §2, The check; changes.md §2, Held.
test.each([
  { bounds: { changed_percent: 20 }, counts: { rows: 5, changing: 1 }, reasons: [] },
  { bounds: { changed_percent: 20 }, counts: { rows: 1_000_000, changing: 200_000 }, reasons: [] },
  {
    bounds: { changed_percent: 20 },
    counts: { rows: 1_000_000, changing: 200_001 },
    reasons: ['changed_percent is 20.0001, over 20'],
  },
  {
    bounds: { changed_percent: 20 },
    counts: { rows: 500, changing: 157 },
    reasons: ['changed_percent is 31.4, over 20'],
  },
  { bounds: { changed_percent: 20 }, counts: { rows: 7, changing: 3 }, reasons: ['changed_percent is 42.9, over 20'] },
  { bounds: { changed_percent: 20 }, counts: { rows: 2, changing: 1 }, reasons: ['changed_percent is 50, over 20'] },
  {
    bounds: { changed_percent: 33.3 },
    counts: { rows: 3, changing: 1 },
    reasons: ['changed_percent is 33.33, over 33.3'],
  },
  // 0.1 × 3 is more than 0.3 in floating point.
  { bounds: { failed_percent: 0.3 }, counts: { rows: 1_000, failed: 3 }, reasons: [] },
  {
    bounds: { failed_percent: 0 },
    counts: { rows: 1_000_000, failed: 1 },
    reasons: ['failed_percent is 0.0001, over 0'],
  },
  { bounds: { failed_percent: 1e-7 }, counts: { rows: 10, failed: 10 }, reasons: ['failed_percent is 100, over 1e-7'] },
  { bounds: { failed_percent: 100 }, counts: { rows: 1, failed: 1 }, reasons: [] },
  { bounds: { failed_percent: 0, changed_percent: 0, removed_percent: 0, new_keys: 0 }, counts: {}, reasons: [] },
  { bounds: { new_keys: 2 }, counts: { newKeys: 2 }, reasons: [] },
  {
    bounds: { new_keys: 0, removed_percent: 1, changed_percent: 2, failed_percent: 3 },
    counts: { rows: 100, failed: 4, changing: 5, removing: 6, newKeys: 3 },
    reasons: [
      'failed_percent is 4, over 3',
      'changed_percent is 5, over 2',
      'removed_percent is 6, over 1',
      'new_keys is 3, over 0',
    ],
  },
  { bounds: 'always' as const, counts: {}, reasons: ['every import is held'] },
  { bounds: 'never' as const, counts: { rows: 1, failed: 1 }, reasons: [] },
])('$bounds and $counts give $reasons', ({ bounds, counts, reasons }) => {
  expect(holdReasons(bounds, { ...none, ...counts })).toEqual(reasons)
})

test('a percentage is compared exactly with a bound of any two decimals, and its text tells it from the bound', () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.integer({ min: 1, max: 10_000_000 }), fc.nat(), (hundredths, rows, random) => {
      const failed = random % (rows + 1)
      const bound = hundredths / 100
      const [reason] = holdReasons({ failed_percent: bound }, { ...none, rows, failed })
      expect(reason !== undefined).toBe(failed * 10_000 > hundredths * rows)
      const shown = Number(/^failed_percent is ([\d.]+), over /.exec(reason ?? '')?.[1] ?? 101)
      expect(shown).toBeGreaterThan(bound)
      if (reason !== undefined) expect(Math.abs(shown - (failed / rows) * 100)).toBeLessThanOrEqual(0.0501)
    }),
  )
})
