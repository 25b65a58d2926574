import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { oneAfterAnother } from './one-after-another.ts'

test('calls of a key never overlap, keep their order, and return their own results or errors', async () => {
  const calls = fc.array(fc.record({ key: fc.nat({ max: 2 }), turns: fc.nat({ max: 3 }), fails: fc.boolean() }))
  await fc.assert(
    fc.asyncProperty(calls, async (all) => {
      const run = oneAfterAnother()
      const running = new Set<number>()
      const started: number[][] = [[], [], []]
      const results = all.map(({ key, turns, fails }, index) =>
        run(key, async () => {
          expect(running).not.toContain(key)
          running.add(key)
          started[key]?.push(index)
          for (let turn = 0; turn < turns; turn++) await setImmediate()
          running.delete(key)
          if (fails) throw new Error(`call ${index}`)
          return index
        }),
      )
      const outcomes = await Promise.allSettled(results)
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.status === 'fulfilled') expect(outcome.value).toBe(index)
        else expect(outcome.reason.message).toBe(`call ${index}`)
      }
      for (const order of started) expect(order).toEqual(order.toSorted((a, b) => a - b))
    }),
  )
})

test('a call goes ahead if the preceding call does not end', async () => {
  const run = oneAfterAnother(10)
  const endless = Promise.withResolvers<void>()
  const first = run(1, () => endless.promise)
  expect(await run(1, async () => 'done')).toBe('done')
  endless.resolve()
  await first
})
