import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Expectation,
  ProfileExpectation,
  type ProfilesFound,
  planOf,
  profilesFound,
} from './profile-expectation.ts'

const expectations: readonly Expectation[] = ['unknown', 'none', 'some', 'conflict']

/** Starts a number of batches and returns what they expect. */
function nextOf(expectation: ProfileExpectation, batches: number): Expectation[] {
  return Array.from({ length: batches }, () => expectation.next())
}

function times(batches: number, expectation: Expectation): Expectation[] {
  return Array<Expectation>(batches).fill(expectation)
}

/** Returns an expectation after these batches. Each batch is committed before the next one starts. */
function afterBatches(...found: ProfilesFound[]): ProfileExpectation {
  const expectation = new ProfileExpectation()
  for (const each of found) {
    expectation.next()
    expectation.note(each)
  }
  return expectation
}

describe('the plan of a batch', () => {
  test.each([
    ['unknown', { assumesNone: false, toleratesConflicts: false }],
    ['none', { assumesNone: true, toleratesConflicts: false }],
    ['some', { assumesNone: false, toleratesConflicts: false }],
    ['conflict', { assumesNone: false, toleratesConflicts: true }],
  ] as const)('for the expectation %s', (expectation, plan) => {
    expect(planOf(expectation, false, false)).toEqual(plan)
  })

  test.each(expectations)('assumes nothing in a retry, whatever was expected: %s', (expectation) => {
    expect(planOf(expectation, true, false)).toEqual({ assumesNone: false, toleratesConflicts: true })
  })
})

describe('what a batch found', () => {
  test.each(expectations)('is what its lookup saw if the first try committed, and %s was expected', (expectation) => {
    expect(profilesFound(expectation, false, true)).toBe('some')
    expect(profilesFound(expectation, false, false)).toBe('none')
  })

  test('is no conflict if it was retried because it had not looked up profiles', () => {
    expect(profilesFound('none', true, true)).toBe('some')
  })

  test.each(['unknown', 'some', 'conflict'] as const)(
    'is a conflict if it was retried and %s was expected',
    (expected) => {
      expect(profilesFound(expected, true, true)).toBe('conflict')
    },
  )
})

describe('the expectation of profiles', () => {
  test('is unknown until a batch is committed', () => {
    expect(nextOf(new ProfileExpectation(), 3)).toEqual(times(3, 'unknown'))
  })

  test('is that there are none as long as no batch found any', () => {
    expect(nextOf(afterBatches('none', 'none'), 2)).toEqual(times(2, 'none'))
  })

  test('never returns to none', () => {
    expect(nextOf(afterBatches('none', 'some', 'none', 'none'), 100)).toEqual(times(100, 'some'))
  })

  test('is a conflict for 16 batches after the first conflict, then for 32, 64 and so on', () => {
    const expectation = afterBatches('none')
    for (const run of [16, 32, 64, 128]) {
      expectation.next()
      expectation.note('conflict')
      expect(nextOf(expectation, run + 1)).toEqual([...times(run, 'conflict'), 'some'])
    }
  })

  test('counts from the last batch that has started, not from the batch that had the conflict', () => {
    const expectation = new ProfileExpectation()
    expectation.next()
    nextOf(expectation, 2) // in flight when the first batch commits
    expectation.note('conflict')
    expect(nextOf(expectation, 17)).toEqual([...times(16, 'conflict'), 'some'])
  })

  test('is not extended by conflicts of batches that were in flight with the batch that had the first conflict', () => {
    const expectation = new ProfileExpectation()
    nextOf(expectation, 3)
    expectation.note('conflict')
    expectation.note('conflict')
    expectation.next()
    expectation.note('conflict')
    expect(nextOf(expectation, 16)).toEqual([...times(15, 'conflict'), 'some'])
  })

  test('costs a second try in at most a few batches of any file, however many conflicts there are', () => {
    const steps = fc.array(fc.boolean(), { maxLength: 3_000 })
    fc.assert(
      fc.property(steps, (hasConflict) => {
        const expectation = afterBatches('some')
        let retried = 0
        for (const conflict of hasConflict) {
          const isTolerated = planOf(expectation.next(), false, false).toleratesConflicts
          if (conflict && !isTolerated) retried++
          expectation.note(conflict && !isTolerated ? 'conflict' : 'some')
        }
        // Between n retries lie at least 16 × (2^(n−1) − 1) batches that tolerate conflicts.
        expect(16 * (2 ** Math.max(0, retried - 1) - 1)).toBeLessThanOrEqual(hasConflict.length)
      }),
    )
  })
})
