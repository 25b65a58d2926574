import { expect, test, vi } from 'vitest'
import { openErrorLog } from './error-log.ts'

test('an error that repeats itself is logged once in ten seconds, with a count; another one at once', () => {
  vi.useFakeTimers()
  try {
    const warn = vi.fn()
    const onError = openErrorLog({ warn })
    const refused = () => new Error('connect ECONNREFUSED 127.0.0.1:6379')
    for (let tries = 0; tries < 100; tries++) onError(refused())
    expect(warn.mock.calls).toEqual([[{ err: refused() }, 'connection or job error']])
    vi.advanceTimersByTime(10_000)
    onError(refused())
    expect(warn.mock.lastCall?.[0]).toEqual({ err: refused(), repeated: 99 })
    onError(new Error('other'))
    expect(warn.mock.lastCall?.[0]).toEqual({ err: new Error('other') })
    expect(warn).toHaveBeenCalledTimes(3)
  } finally {
    vi.useRealTimers()
  }
})
