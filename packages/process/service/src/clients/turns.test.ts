import { expect, onTestFinished, test, vi } from 'vitest'
import { openTurns } from './turns.ts'

/** Each timer may end up to a millisecond early. */
const early = 1

test('the turns of an owner are apart, in the order of the calls; other owners do not wait', async () => {
  const untilTurn = openTurns(40)
  const began = performance.now()
  const order: string[] = []
  const take = async (what: string, owner: number) => {
    await untilTurn(owner)
    order.push(what)
  }
  await Promise.all([take('first', 1), take('second', 1), take('third', 1), take('other owner', 2)])
  expect(order).toEqual(['first', 'other owner', 'second', 'third'])
  expect(performance.now() - began).toBeGreaterThan(80 - 2 * early)
})

test('an owner whose last turn is long ago does not wait', async () => {
  const untilTurn = openTurns(20)
  const now = vi.spyOn(performance, 'now')
  onTestFinished(() => now.mockRestore())
  now.mockReturnValue(1_000)
  await untilTurn(1)
  now.mockReturnValue(1_020)
  const turn = untilTurn(1).then(() => 'turn')
  expect(await Promise.race([turn, new Promise((resolve) => setImmediate(() => resolve('a pause')))])).toBe('turn')
})

test('as many callers as the burst do not wait', async () => {
  const untilTurn = openTurns(40, 3)
  const began = performance.now()
  const waits = await Promise.all(
    Array.from({ length: 4 }, () => untilTurn('anna').then(() => performance.now() - began)),
  )
  expect(Math.max(...waits.slice(0, 3))).toBeLessThan(waits[3] ?? 0)
  expect(waits[3]).toBeGreaterThan(40 - 2 * early)
})
