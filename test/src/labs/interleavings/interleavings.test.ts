import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../../environment/opened.ts'
import { explore, type OrderRun, type Step } from './explore.ts'
import { openActorsFixture } from './fixture.ts'
import { pairs } from './pairs.ts'
import { runOverlap } from './run-overlap.ts'

// A sample of the orders that `npm run test:long` tries.
const sample = [
  'a worker whose lease ran out, and its successor',
  'cancelling and the commit of a batch',
  'pausing and a claim',
  'an approval and the end of its time',
]
const ordersOfEach = 5

const fixture = openBeforeAll(() => openActorsFixture(2))

const sampledPairs = pairs.filter(({ name }) => sample.includes(name))

test.each(sampledPairs.map((pair) => [pair.name, pair] as const))(
  '%s: some orders of their statements leave a correct result',
  async (_, pair) => {
    const { violations, orders } = await runOverlap(fixture, pair, { limit: ordersOfEach })
    expect(violations).toEqual([])
    expect(orders).toBe(ordersOfEach)
  },
)

describe('the search tries', () => {
  /** Simulates actors with `counts` statements each, which never wait for each other. Adds each order to `seen`. */
  function simulated(counts: readonly number[], seen: string[]): (prefix: readonly Step[]) => Promise<OrderRun> {
    return async (prefix) => {
      const left = [...counts]
      const decisions: OrderRun['decisions'] = []
      while (left.some((count) => count > 0)) {
        const enabled = [...left.keys()].filter((actor) => (left[actor] ?? 0) > 0)
        const last = decisions.at(-1)?.step.actor
        const step = prefix[decisions.length] ?? { actor: last !== undefined && left[last] ? last : (enabled[0] ?? 0) }
        decisions.push({ enabled, committing: enabled.filter((actor) => left[actor] === 1), step, text: '' })
        left[step.actor] = step.crash === undefined ? (left[step.actor] ?? 0) - 1 : 0
      }
      seen.push(decisions.map(({ step: { actor, crash } }) => `${actor}${crash?.[0] ?? ''}`).join(''))
      return { decisions, hasDiverged: false, problems: [] }
    }
  }

  test.each([
    [[3, 4], 35],
    [[2, 2, 1], 30],
  ])('each order once of %j statements', async (counts, all) => {
    const seen: string[] = []
    const { orders, merges } = await explore(simulated(counts, seen), {})
    expect([orders, merges]).toEqual([all, BigInt(all)])
    expect(new Set(seen).size).toBe(all)
  })

  test('no order with more preemptions than allowed', async () => {
    const seen: string[] = []
    await explore(simulated([3, 3], seen), { preemptions: 1 })
    expect(seen.toSorted()).toEqual(['000111', '001110', '011100', '100011', '110001', '111000'])
  })

  test('the death of each actor before each statement, and after each commit', async () => {
    const seen: string[] = []
    const { crashes } = await explore(simulated([2, 1], seen), { preemptions: 0, withCrash: true })
    expect(seen.toSorted()).toEqual([
      ...['001', '001b', '001u', '00b1', '00u1', '0b1'],
      ...['100', '100b', '100u', '10b', '1b00', '1u00'],
    ])
    expect(crashes).toBe(10)
  })

  test('as many orders as a sample has, and the same ones each time', async () => {
    const [seen, again]: string[][] = [[], []]
    await explore(simulated([3, 4], seen ?? []), { limit: 9 })
    await explore(simulated([3, 4], again ?? []), { limit: 9 })
    expect(new Set(seen).size).toBe(9)
    expect(again).toEqual(seen)
  })
})
