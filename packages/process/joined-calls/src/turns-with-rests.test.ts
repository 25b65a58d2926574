import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { turnsWithRests } from './turns-with-rests.ts'

// The clock stands still unless a test moves it. The process is busy for as long as a test says.
let busyMs = 0
beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({ active: busyMs, idle: 0, utilization: 0 }))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Asks for turns of keys. Returns the functions that end them, by key and number, as the turns come. */
function ask(untilTurn: ReturnType<typeof turnsWithRests>, ...keys: string[]) {
  const turns = new Map<string, (() => void) | undefined>()
  for (const [index, key] of keys.entries()) void untilTurn(key).then((end) => turns.set(`${key}${index}`, end))
  return turns
}

test('turns of a key follow each other after a rest twice as long as the process was busy, and other keys do not wait', async () => {
  const turns = ask(turnsWithRests(), 'a', 'a', 'a', 'b')
  await vi.advanceTimersByTimeAsync(0)
  expect([...turns.keys()]).toEqual(['a0', 'b3'])
  busyMs = 20
  turns.get('a0')?.()
  await vi.advanceTimersByTimeAsync(39)
  expect(turns.has('a1')).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(turns.has('a1')).toBe(true)
  busyMs = 10_000
  turns.get('a1')?.()
  await vi.advanceTimersByTimeAsync(500)
  expect(turns.has('a2')).toBe(true)
})

test('a call whose turn does not come in time gets none, and the turns after it still wait for the preceding one', async () => {
  const untilTurn = turnsWithRests()
  const turns = ask(untilTurn, 'a', 'a')
  await vi.advanceTimersByTimeAsync(4_000)
  const later = ask(untilTurn, 'a')
  await vi.advanceTimersByTimeAsync(1_000)
  expect([...turns]).toEqual([
    ['a0', expect.any(Function)],
    ['a1', undefined],
  ])
  expect(later.size).toBe(0)
  turns.get('a0')?.()
  await vi.advanceTimersByTimeAsync(500)
  expect(later.get('a0')).toBeDefined()
})

test('a turn that nobody ends is over after 30 seconds', async () => {
  const untilTurn = turnsWithRests()
  ask(untilTurn, 'a')
  await vi.advanceTimersByTimeAsync(30_000)
  const later = ask(untilTurn, 'a')
  await vi.advanceTimersByTimeAsync(0)
  expect(later.get('a0')).toBeDefined()
})
