import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { circuitBreaker } from './circuit-breaker.ts'

/** Something that is away for as long as it is told to be, and counts how often it was tried. */
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
  test('passes results and errors on', async () => {
    const { calls, call } = service()
    const guarded = circuitBreaker({ deadline: 1_000, tolerated: 3, pause: 1_000 })
    expect(await guarded(call)).toBe(1)
    calls.away = true
    await expect(guarded(call)).rejects.toThrow('away')
  })

  test('tries nothing for a while after so many failures in a row, then tries again', async () => {
    // The pause is over when it says so, however long the lines before it take.
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { calls, call } = service()
    const guarded = circuitBreaker({ deadline: 1_000, tolerated: 3, pause: 50 })
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

  test('a success in between begins the count of failures anew', async () => {
    const { calls, call } = service()
    const guarded = circuitBreaker({ deadline: 1_000, tolerated: 2, pause: 60_000 })
    for (let round = 0; round < 5; round++) {
      calls.away = true
      await expect(guarded(call)).rejects.toThrow('away')
      calls.away = false
      await guarded(call)
    }
    expect(calls.tried).toBe(10)
  })

  test('a call that does not end in time fails, and its late error harms nobody', async () => {
    const guarded = circuitBreaker({ deadline: 20, tolerated: 3, pause: 1_000 })
    const ended = Promise.withResolvers<void>()
    const late = async () => {
      await delay(60)
      ended.resolve()
      throw new Error('late')
    }
    await expect(guarded(late)).rejects.toThrow('no answer within 20 ms')
    await ended.promise
    await setImmediate() // an error that nobody takes is reported by now
  })

  test('an answer that came while this process stood still counts', async () => {
    const guarded = circuitBreaker({ deadline: 20, tolerated: 3, pause: 1_000 })
    const answer = guarded(async () => {
      const answered = delay(10, 'answer')
      const until = performance.now() + 60
      while (performance.now() < until);
      return await answered
    })
    expect(await answer).toBe('answer')
  })

  test('a call has its deadline anew after this process stood still', async () => {
    const guarded = circuitBreaker({ deadline: 200, tolerated: 1, pause: 60_000 })
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
