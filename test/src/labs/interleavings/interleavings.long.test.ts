import { beforeAll, expect, test } from 'vitest'
import { openPairFixture, type PairFixture } from './fixture.ts'
import { pairs } from './pairs.ts'
import { runPair } from './run-pair.ts'

let fixture: PairFixture
beforeAll(async () => {
  fixture = await openPairFixture()
  return () => fixture.close()
})

test.each(pairs.map((pair) => [pair.name, pair] as const))(
  '%s: every order of their statements leaves a correct result',
  { timeout: 400_000 },
  async (name, pair) => {
    const { orders, merges, longest, diverged, violations } = await runPair(fixture, pair)
    const bound = pair.preemptions === undefined ? 'all orders' : `at most ${pair.preemptions} preemptions`
    console.log(
      `${name}: ${orders} orders (${bound}) of ${merges} without locks; ${longest} statements; ${diverged} diverged`,
    )
    expect(violations.slice(0, 3)).toEqual([])
  },
)
