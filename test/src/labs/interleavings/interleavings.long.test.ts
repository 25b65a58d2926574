import { expect, test } from 'vitest'
import { openBeforeAll } from '../../environment/opened.ts'
import { openActorsFixture } from './fixture.ts'
import { knownRowPairs } from './known-row-pairs.ts'
import { pairs } from './pairs.ts'
import { runOverlap } from './run-overlap.ts'

const fixture = openBeforeAll(() => openActorsFixture(2))

test.each([...pairs, ...knownRowPairs].map((pair) => [pair.name, pair] as const))(
  '%s: every order of their statements leaves a correct result',
  { timeout: 400_000 },
  async (name, pair) => {
    const { orders, merges, longest, diverged, violations } = await runOverlap(fixture, pair)
    const bound = pair.preemptions === undefined ? 'all orders' : `at most ${pair.preemptions} preemptions`
    console.log(
      `${name}: ${orders} orders (${bound}) of ${merges} without locks; ${longest} statements; ${diverged} diverged`,
    )
    expect(violations.slice(0, 3)).toEqual([])
  },
)
