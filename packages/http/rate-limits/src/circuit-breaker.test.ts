import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { circuitBreaker } from './circuit-breaker.ts'

/** A service that fails while `away` is set, and counts its calls. */
function service() {
  const calls = { tried: 0, away: false }
  const call = async () => {
    calls.tried += 1
    if (calls.away) throw new Error('away')
    return calls.tried
  }
  return { calls, call }
}

describe('a circuit breaker', () => {
  test('passes results and errors through', async () => {
    const { calls, call } = service()
    const guarded = circuitBreaker({ deadlineMs: 1_000, toleratedFailures: 3, pauseMs: 1_000 })
    expect(await guarded(call)).toBe(1)
    calls.away = true
    await expect(guarded(call)).rejects.toThrow('away')
  })

  test('stops trying for a while after too many failures in a row, then tries again', async () => {
    // Fake timers end the pause exactly when the test says so.
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { calls, call } = service()
    const guarded = circuitBreaker({ deadlineMs: 1_000, toleratedFailures: 3, pauseMs: 50 })
    calls.away = true
    for (let request = 0; request < 3; request++) await expect(guarded(call)).rejects.toThrow('away')
    for (let request = 0; request < 3; request++) await expect(guarded(call)).rejects.toThrow('not tried')
    expect(calls.tried).toBe(3)

    vi.advanceTimersByTime(60)
    await expect(guarded(call)).rejects.toThrow('away')
    await expect(guarded(call)).rejects.toThrow('not tried')
    calls.away = false
    vi.advanceTimersByTime(60)
    expect(await guarded(call)).toBe(5)
  })

  test('a success resets the count of failures', async () => {
    const { calls, call } = service()
    const guarded = circuitBreaker({ deadlineMs: 1_000, toleratedFailures: 2, pauseMs: 60_000 })
    for (let round = 0; round < 5; round++) {
      calls.away = true
      await expect(guarded(call)).rejects.toThrow('away')
      calls.away = false
      await guarded(call)
    }
    expect(calls.tried).toBe(10)
  })

  test('a call that passes its deadline fails, and its late error is not unhandled', async () => {
    const guarded = circuitBreaker({ deadlineMs: 20, toleratedFailures: 3, pauseMs: 1_000 })
    const { promise: late, reject } = Promise.withResolvers<never>()
    await expect(guarded(() => late)).rejects.toThrow('no answer within 20 ms')
    reject(new Error('late'))
    await setImmediate() // an unhandled rejection would be reported by now
  })

  test('an answer that arrived while this process was busy still counts', async () => {
    const guarded = circuitBreaker({ deadlineMs: 20, toleratedFailures: 3, pauseMs: 1_000 })
    const answer = guarded(async () => {
      const answered = delay(10, 'answer')
      const until = performance.now() + 60
      while (performance.now() < until);
      return await answered
    })
    expect(await answer).toBe('answer')
  })

  test('work in short pieces, as under load, does not use up the deadline of an answer that waits for its turns', async () => {
    const guarded = circuitBreaker({ deadlineMs: 50, toleratedFailures: 1, pauseMs: 60_000 })
    const call = async () => {
      for (let turn = 0; turn < 6; turn++) {
        await setImmediate()
        const until = performance.now() + 30
        while (performance.now() < until);
      }
      return 'answer'
    }
    expect(await guarded(call)).toBe('answer')
  })

  test('the deadline of a call begins anew after this process was busy', async () => {
    const guarded = circuitBreaker({ deadlineMs: 200, toleratedFailures: 1, pauseMs: 60_000 })
    const call = async () => {
      await setImmediate()
      const until = performance.now() + 400
      while (performance.now() < until);
      await delay(5)
      await delay(5)
      return 'answer'
    }
    expect(await guarded(call)).toBe('answer')
    expect(await guarded(async () => 'tried')).toBe('tried')
  })
})
