import { RateLimiterMemory } from 'rate-limiter-flexible'
import { expect, test } from 'vitest'
import { joinedCounts } from './joined-counts.ts'

/** Counts in memory, and how many requests each call added. */
function counter() {
  const limiter = new RateLimiterMemory({ points: 1_000_000, duration: 60 })
  const calls: number[] = []
  const count = joinedCounts((key, requests) => {
    calls.push(requests)
    return limiter.consume(key, requests)
  })
  return { count, calls }
}

test('every request gets a place of its own, in the order of the requests', async () => {
  const { count, calls } = counter()
  const places = await Promise.all(Array.from({ length: 100 }, () => count('a')))
  expect(places.map(({ place }) => place)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
  expect(places.every(({ resetAfter }) => resetAfter > 59_000)).toBe(true)
  expect(calls).toEqual([1, 99])
})

test('keys do not wait for each other', async () => {
  const { count, calls } = counter()
  await Promise.all([count('a'), count('b'), count('a'), count('b')])
  expect(calls).toEqual([1, 1, 1, 1])
  expect((await count('a')).place).toBe(3)
})

test('a failure is that of all requests of its call, and of no other', async () => {
  const limiter = new RateLimiterMemory({ points: 1_000_000, duration: 60 })
  let away = true
  const count = joinedCounts(async (key, requests) => {
    if (away) throw new Error('away')
    return await limiter.consume(key, requests)
  })
  const outcomes = await Promise.allSettled([count('a'), count('a'), count('b')])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  away = false
  expect((await count('a')).place).toBe(1)
})
