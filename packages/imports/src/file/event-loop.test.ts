import { expect, test } from 'vitest'
import { nextTurn } from './event-loop.ts'

test('of all that wait, one goes on in each round of the event loop', async () => {
  let [round, isOver] = [0, false]
  const count = () => {
    round++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const rounds = await Promise.all(
    Array.from({ length: 5 }, async () => {
      await nextTurn()
      return round
    }),
  )
  isOver = true
  expect(new Set(rounds).size).toBe(5)
})
