import { expect, test } from 'vitest'
import { yieldToEventLoop } from './open-columns.ts'

test('of all callers that wait, one continues in each round of the event loop', async () => {
  let [round, isOver] = [0, false]
  const count = () => {
    round++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const rounds = await Promise.all(
    Array.from({ length: 5 }, async () => {
      await yieldToEventLoop()
      return round
    }),
  )
  isOver = true
  expect(new Set(rounds).size).toBe(5)
})
