import { setImmediate as immediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { joinCalls } from './joined-calls.ts'

/** Calls that return their input. The test decides when each call is served. */
function pendingCalls(options?: { atMost?: number; patienceMs?: number }) {
  const served: { key: string; inputs: readonly number[]; release(error?: Error): void }[] = []
  const call = joinCalls<number, number>((key, inputs) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>()
    served.push({ key, inputs, release: (error) => (error === undefined ? resolve(inputs) : reject(error)) })
    return promise
  }, options)
  return { call, served }
}

test('calls of the same turn of the event loop are served together, also if a promise separates them', async () => {
  const { call, served } = pendingCalls()
  const outputs = Promise.all([call('a', 1), Promise.resolve().then(() => call('a', 2)), call('a', 3)])
  await immediate()
  expect(served.map(({ inputs }) => inputs)).toEqual([[1, 3, 2]])
  served[0]?.release()
  expect(await outputs).toEqual([1, 2, 3])
})

test('calls that arrive while another is in flight are served together after it, in their order', async () => {
  const { call, served } = pendingCalls()
  const first = call('a', 1)
  await immediate()
  const outputs = Promise.all([first, call('a', 2), call('a', 3)])
  expect(served.map(({ inputs }) => inputs)).toEqual([[1]])
  served[0]?.release()
  await immediate()
  expect(served.map(({ inputs }) => inputs)).toEqual([[1], [2, 3]])
  served[1]?.release()
  expect(await outputs).toEqual([1, 2, 3])
})

test('a call is never served by a request that began before it', async () => {
  const { call, served } = pendingCalls()
  const first = call('a', 1)
  await immediate()
  const second = call('a', 2)
  served[0]?.release()
  expect(await first).toBe(1)
  await immediate()
  const third = call('a', 3)
  served[1]?.release()
  expect(await second).toBe(2)
  await immediate()
  expect(served[2]?.inputs).toEqual([3])
  served[2]?.release()
  expect(await third).toBe(3)
})

test('calls do not wait long for a preceding call that hangs', async () => {
  const { call, served } = pendingCalls({ patienceMs: 5 })
  const stuck = call('a', 1)
  await immediate()
  const second = call('a', 2)
  await vi.waitFor(() => expect(served.map(({ inputs }) => inputs)).toEqual([[1], [2]]))
  served[1]?.release()
  expect(await second).toBe(2)
  await immediate()
  const third = call('a', 3)
  await immediate()
  expect(served[2]?.inputs).toEqual([3])
  served[2]?.release()
  served[0]?.release()
  expect(await Promise.all([stuck, third])).toEqual([1, 3])
})

test('calls of different keys do not wait for each other', async () => {
  const { call, served } = pendingCalls()
  void call('a', 1)
  void call('b', 2)
  await immediate()
  expect(served.map(({ key }) => key)).toEqual(['a', 'b'])
})

test('a failure fails exactly the calls that were served together', async () => {
  const { call, served } = pendingCalls()
  const first = call('a', 1)
  await immediate()
  const outcomes = Promise.allSettled([first, call('a', 2), call('a', 3)])
  served[0]?.release()
  await immediate()
  const last = call('a', 4)
  served[1]?.release(new Error('away'))
  await immediate()
  served[2]?.release()
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  expect(await last).toBe(4)
})

test('a missing output fails its calls instead of leaving one waiting forever', async () => {
  const call = joinCalls<number, number>(async () => [])
  await expect(call('a', 1)).rejects.toThrow('0 outputs for 1 calls')
})

test('every call gets its own output, however many there are and however few are served at a time', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.record({ key: fc.constantFrom('a', 'b'), input: fc.nat() })),
    fc.integer({ min: 1, max: 5 }),
    async (calls, atMost) => {
      const sizes: number[] = []
      const call = joinCalls<number, string>(
        async (key, inputs) => {
          sizes.push(inputs.length)
          await immediate()
          return inputs.map((input) => `${key}${input}`)
        },
        { atMost },
      )
      const outputs = await Promise.all(calls.map(({ key, input }) => call(key, input)))
      expect(outputs).toEqual(calls.map(({ key, input }) => `${key}${input}`))
      expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(atMost)
    },
  )
  await fc.assert(property)
})
