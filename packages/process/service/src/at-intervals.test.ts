import { expect, test, vi } from 'vitest'
import { atIntervals } from './at-intervals.ts'

test('an error that repeats itself is passed on once in ten seconds, with a count; another one at once', () => {
  vi.useFakeTimers()
  try {
    const write = vi.fn()
    const onError = atIntervals(write, (error: Error) => error.message)
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:6379')
    for (let tries = 0; tries < 100; tries++) onError(refused)
    expect(write.mock.calls).toEqual([[refused, 1]])
    vi.advanceTimersByTime(10_000)
    onError(refused)
    expect(write.mock.lastCall).toEqual([refused, 100])
    const other = new Error('other')
    onError(other)
    expect(write.mock.lastCall).toEqual([other, 1])
    expect(write).toHaveBeenCalledTimes(3)
  } finally {
    vi.useRealTimers()
  }
})
