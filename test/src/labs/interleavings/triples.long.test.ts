import { expect, test } from 'vitest'
import { openBeforeAll } from '../../environment/opened.ts'
import { openActorsFixture } from './fixture.ts'
import { runOverlap } from './run-overlap.ts'
import { triples } from './triples.ts'

// A sample. `ORDERS=250` runs so many orders of each triple.
const ordersOfEach = Number(process.env.ORDERS ?? 6)

const fixture = openBeforeAll(() => openActorsFixture(3))

test.each(triples.map((triple) => [triple.name, triple] as const))(
  '%s: orders of their statements, with and without a crash, leave a correct result',
  { timeout: 60_000 + ordersOfEach * 10_000 },
  async (name, triple) => {
    const found = await runOverlap(fixture, triple, { withCrash: true, limit: ordersOfEach })
    const { orders, crashes, longest, diverged, violations } = found
    console.log(
      `${name}: ${orders} orders, ${crashes} with a crash; ${longest} statements; ${diverged} diverged; ${violations.length} violations`,
    )
    expect(violations.slice(0, 3)).toEqual([])
  },
)
