import { expect, test } from 'vitest'
import { growthOf, growthProblems, type Sample } from './harness/process-growth.ts'

const minute = 60_000
const twoHours = 120 * minute

/** A run of two hours with a round every three minutes. */
function runWith(memory: (minutes: number) => number, sockets: (minutes: number) => number = () => 20): Sample[] {
  return Array.from({ length: 40 }, (_, index) => {
    const minutes = 3 * (index + 1)
    return { atMs: minutes * minute, usage: { api: { memory: memory(minutes), heap: 50, sockets: sockets(minutes) } } }
  })
}

const problemsOf = (samples: Sample[]) => growthProblems(growthOf(samples, twoHours))

test.each([
  ['stays the same', runWith(() => 150)],
  ['grows in the first quarter of an hour only', runWith((minutes) => (minutes < 15 ? 100 : 150))],
  ['has a peak in one round', runWith((minutes) => (minutes === 117 ? 250 : 150))],
  ['grows by 4 %', runWith((minutes) => 150 + (minutes > 60 ? 6 : 0))],
  [
    'has two connections more',
    runWith(
      () => 150,
      (minutes) => (minutes > 60 ? 22 : 20),
    ),
  ],
])('a process whose usage %s has not grown', (_, samples) => {
  expect(problemsOf(samples)).toEqual([])
})

test.each([
  ['1 MiB more every three minutes', runWith((minutes) => 150 + minutes / 3), 'memory of api grew from 157 to 188 MiB'],
  [
    'one connection more every half hour',
    runWith(
      () => 150,
      (minutes) => 20 + Math.floor(minutes / 30),
    ),
    'sockets of api',
  ],
])('a process that holds %s has grown', (_, samples, problem) => {
  expect(problemsOf(samples)).toEqual([expect.stringContaining(problem)])
})

test('a run without a round after its first part cannot be judged', () => {
  expect(() => growthOf([{ atMs: minute, usage: {} }], twoHours)).toThrow('no round ended')
})
