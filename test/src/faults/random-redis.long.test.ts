import { expect, test } from 'vitest'
import { runAtRandom } from './harness/random-run.ts'

// A bounded form of `npm run test:soak`: every kind of fault occurs about once.
test('random faults cause no lost, duplicated or reordered work (queue in Redis)', async () => {
  const run = { seed: 2, queue: 'redis', durationMs: 45_000, longestFaultMs: 2_000, workers: 2, apps: 3 } as const
  const figures = await runAtRandom({ ...run, awaitRecovery: false })
  console.log(JSON.stringify(figures))
  expect(figures.violations).toEqual([])
  expect(figures.imports).toBeGreaterThan(5)
}, 400_000)
