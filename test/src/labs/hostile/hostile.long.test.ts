import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunningStack } from '../../stack/running-stack.ts'
import { attacks } from './attacks/index.ts'
import { startHostileStack, urlsOf } from './hostile-stack.ts'
import { type Neighbour, openNeighbour } from './neighbour.ts'
import { runAttack } from './run.ts'

// A sample of `npm run test:hostile` on one stack. Only the full run checks how long another tenant's requests take.
const sample = attacks.filter(({ inSample }) => inSample)

let stack: RunningStack
let neighbour: Neighbour
beforeAll(async () => {
  stack = await startHostileStack()
  neighbour = await openNeighbour(stack, await urlsOf(stack))
}, 120_000)
afterAll(async () => {
  await neighbour?.close()
  await stack?.stop()
}, 60_000)

test.for(sample)('$title – no process dies, and other tenants are served', async (attack) => {
  const { violations } = await runAttack(attack, stack, neighbour, true)
  expect(violations).toEqual([])
})
