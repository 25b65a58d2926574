import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { NetworkError, SluiceError, UploadError } from './errors.ts'
import { delay, pauseMs, Retries } from './retries.ts'

test('pauses double up to ten seconds, spread over their second half', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const longest = Math.min(400 * 2 ** (failures - 1), 10_000)
      const pause = pauseMs(failures, undefined, random)
      expect(pause).toBeGreaterThanOrEqual(longest / 2)
      expect(pause).toBeLessThanOrEqual(longest)
    }),
  )
})

test('the wait that the service asks for extends a pause, and never shortens it', () => {
  expect(pauseMs(1, 42_000, 0)).toBe(42_000)
  expect(pauseMs(5, 0, 0)).toBe(pauseMs(5, undefined, 0))
})

test('tries end, however patient the caller is and however soon the service wants the next one', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const retries = new Retries(Number.POSITIVE_INFINITY)
  const refusal = new UploadError({ status: 503, code: 'SlowDown', text: 'slow down', retryAfterMs: 0 })
  let tries = 0
  const trying = (async () => {
    for (; ; tries++) await retries.pause(refusal, 0)
  })()
  trying.catch(() => {})
  await vi.runAllTimersAsync()
  await expect(trying).rejects.toBe(refusal)
  expect(tries).toBe(24)
})

test('a permanent failure is thrown at once', async () => {
  const error = new SluiceError('no')
  await expect(new Retries(60_000).pause(error, 0)).rejects.toBe(error)
  const fault = new TypeError('a fault of the caller')
  await expect(new Retries(60_000).pause(fault, 0)).rejects.toBe(fault)
})

test('a wait that exceeds the patience is not begun', async () => {
  const error = new NetworkError('gone')
  await expect(new Retries(100).pause(error, 0)).rejects.toBe(error)
  // The time of the try counts, too.
  await expect(new Retries(1_000).pause(error, 1_000)).rejects.toBe(error)
})

test('an aborted wait rejects with the reason of the signal, before and during the wait', async () => {
  const reason = new Error('stop')
  await expect(delay(60_000, AbortSignal.abort(reason))).rejects.toBe(reason)
  const controller = new AbortController()
  const waiting = delay(60_000, controller.signal)
  controller.abort(reason)
  await expect(waiting).rejects.toBe(reason)
})
