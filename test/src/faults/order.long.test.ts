import { expect, test } from 'vitest'
import { runInOrder } from './harness/order-run.ts'

// A bounded form of `npm run test:soak`, which has 8 apps × 20 imports.
test('files that are uploaded in random order are applied in request order, despite faults and many workers', async () => {
  const size = { apps: 4, imports: 8, rows: 600, workers: 4 }
  const figures = await runInOrder({ seed: 4, ...size, faultsMs: 90_000, timeoutMs: 360_000 })
  console.log(JSON.stringify(figures))
  expect(figures.violations).toEqual([])
  expect(figures.imports).toBe(32)
}, 420_000)
