import { readFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { retryPause } from './outage.ts'

// docs/faults.md, Storage and Postgres.
afterEach(() => void vi.restoreAllMocks())

/** Returns the shortest and the longest pause, ms. */
function pauses(tries: number, counts: boolean): number[] {
  return [1, 0].map((random) => {
    vi.spyOn(Math, 'random').mockReturnValue(random)
    return retryPause(new Error('storage'), tries, counts)
  })
}

test('after tries that count, an import pauses for 2 s, 4 s, 8 s … a minute, minus up to half', () => {
  const seconds = [1, 2, 3, 4, 5, 6, 7].map((tries) => pauses(tries, true).map((ms) => ms / 1_000))
  expect(seconds).toEqual([
    [1, 2],
    [2, 4],
    [4, 8],
    [8, 16],
    [16, 32],
    [30, 60],
    [30, 60],
  ])
})

test('during an outage, which does not count, an import pauses for 5 to 10 s each time', () => {
  expect([1, 5].map((tries) => pauses(tries, false))).toEqual([
    [5_000, 10_000],
    [5_000, 10_000],
  ])
})

test('the schema knows the longest pause: it treats a later retry as due, because the clock was set back', () => {
  const schema = new URL('../../../../stores/database/src/migrations/0001-initial/imports.sql', import.meta.url)
  const [, minutes] = /is_due\(i\.retry_at, interval '(\d+) minute'\)/.exec(readFileSync(schema, 'utf8')) ?? []
  expect(Math.max(...pauses(99, true))).toBe(Number(minutes) * 60_000)
})
