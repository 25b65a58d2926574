import { afterAll, beforeAll, expect, test } from 'vitest'
import { largeImports, timeoutMs } from './large-imports.ts'
import { type RunningStack, startStack } from './running-stack.ts'
import { lastClaim } from './worker-log.ts'

// The guarantees "Exactly once" and "One owner" of design.md §4. killed-worker.long.test.ts kills more workers, and
// lets them hang.
let stack: RunningStack

beforeAll(async () => {
  stack = await startStack({ workers: 2, env: { IMPORT_LEASE: '2s', BATCH_ROWS: '200' } })
})

afterAll(() => stack.stop())

// design.md §4, Exactly once.
test(
  'a worker that is killed in the middle of a file is replaced, and no row is lost or applied twice',
  async () => {
    const imports = largeImports(stack, { rows: 12_000, users: 2_000 })
    const undisturbed = await (await imports.start()).outcome()
    const { importId, untilProgress, killWorker, outcome } = await imports.start()
    await untilProgress(0.2)
    await killWorker()
    expect(await outcome()).toEqual(undisturbed)
    expect(undisturbed).toMatchObject({ state: 'completed', rows_total: 12_000, rows_failed: imports.counts.invalid })
    expect((await lastClaim(stack.home, importId))?.attempt).toBe(2)
  },
  2 * timeoutMs,
)
