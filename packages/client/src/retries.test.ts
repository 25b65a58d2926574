import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NetworkError, SluiceError } from './errors.ts'
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

test('a permanent failure is thrown at once', async () => {
  const error = new SluiceError('no')
  await expect(new Retries(60_000).pause(error)).rejects.toBe(error)
  const fault = new TypeError('a fault of the caller')
  await expect(new Retries(60_000).pause(fault)).rejects.toBe(fault)
})

test('a wait that exceeds the patience is not begun', async () => {
  const error = new NetworkError('gone')
  await expect(new Retries(100).pause(error)).rejects.toBe(error)
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
