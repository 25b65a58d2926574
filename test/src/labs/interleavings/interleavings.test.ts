import { beforeAll, describe, expect, test } from 'vitest'
import { explore, type OrderRun } from './explore.ts'
import { openPairFixture, type PairFixture } from './fixture.ts'
import { pairs } from './pairs.ts'
import { runPair } from './run-pair.ts'

// A sample of the orders that `npm run test:long` tries: the first orders of these pairs.
const sample = [
  'a worker whose lease ran out, and its successor',
  'cancelling and the commit of a batch',
  'pausing and a claim',
  'an approval and the end of its time',
]
const ordersOfEach = 5

let fixture: PairFixture
beforeAll(async () => {
  fixture = await openPairFixture()
  return () => fixture.close()
})

const sampledPairs = pairs.filter(({ name }) => sample.includes(name))

test.each(sampledPairs.map((pair) => [pair.name, pair] as const))(
  '%s: some orders of their statements leave a correct result',
  async (_, pair) => {
    const { violations, orders } = await runPair(fixture, pair, { limit: ordersOfEach })
    expect(violations).toEqual([])
    expect(orders).toBe(ordersOfEach)
  },
)

describe('the search tries', () => {
  /** Simulates two actors with `counts` statements each, which never wait for each other. Adds each order to `seen`. */
  function simulated(
    counts: readonly [number, number],
    seen: string[],
  ): (prefix: readonly number[]) => Promise<OrderRun> {
    return async (prefix) => {
      const left = [...counts]
      const decisions: OrderRun['decisions'] = []
      while (left.some((count) => count > 0)) {
        const enabled = [0, 1].filter((actor) => (left[actor] ?? 0) > 0)
        const last = decisions.at(-1)?.chosen
        const chosen =
          [prefix[decisions.length], last, ...enabled].find(
            (actor) => actor !== undefined && enabled.includes(actor),
          ) ?? 0
        left[chosen] = (left[chosen] ?? 0) - 1
        decisions.push({ enabled, chosen, text: '' })
      }
      seen.push(decisions.map(({ chosen }) => chosen).join(''))
      return { decisions, hasDiverged: false, problems: [] }
    }
  }

  test('each order once', async () => {
    const seen: string[] = []
    const { orders, merges } = await explore(simulated([3, 4], seen), {})
    expect([orders, merges]).toEqual([35, 35n])
    expect(new Set(seen).size).toBe(35)
  })

  test('no order with more preemptions than allowed', async () => {
    const seen: string[] = []
    await explore(simulated([3, 3], seen), { preemptions: 1 })
    expect(seen.toSorted()).toEqual(['000111', '001110', '011100', '100011', '110001', '111000'])
  })
})
