import { expect, test } from 'vitest'
import { joinedCounts } from './joined-counts.ts'

/** Counts in memory, and records how many requests each call added. */
function counter() {
  const totals = new Map<string, number>()
  const calls: number[] = []
  let isAway = false
  const count = joinedCounts(async (key, requests) => {
    if (isAway) throw new Error('away')
    calls.push(requests)
    const total = (totals.get(key) ?? 0) + requests
    totals.set(key, total)
    return { requests: total, resetAfterMs: 60_000 }
  })
  const setAway = (value: boolean) => {
    isAway = value
  }
  return { count, calls, setAway }
}

test('every request has a position of its own, in the order of the requests', async () => {
  const { count, calls } = counter()
  const positions = await Promise.all(Array.from({ length: 100 }, () => count('a')))
  expect(positions.map(({ position }) => position)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
  expect(positions.every(({ resetAfterMs }) => resetAfterMs === 60_000)).toBe(true)
  expect(calls).toEqual([100])
})

test('requests of different keys do not wait for each other', async () => {
  const { count, calls } = counter()
  await Promise.all([count('a'), count('b'), count('a'), count('b')])
  expect(calls).toEqual([2, 2])
  expect((await count('a')).position).toBe(3)
})

test('a failure fails exactly the requests of its call', async () => {
  const { count, setAway } = counter()
  setAway(true)
  const outcomes = await Promise.allSettled([count('a'), count('a'), count('b')])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  setAway(false)
  expect((await count('a')).position).toBe(1)
})
