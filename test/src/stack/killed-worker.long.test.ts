import { sql } from '@sluice/database'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type LargeImports, largeImports, type Outcome, timeoutMs } from './large-imports.ts'
import { signal } from './processes.ts'
import { type RunningStack, startStack } from './running-stack.ts'
import { importLog, lastClaim } from './worker-log.ts'

// The guarantees of design.md §4 if workers die or hang in the middle of a file, compared with an undisturbed run.
// killed-worker.test.ts checks them with one killed worker and a smaller file.
let stack: RunningStack
let imports: LargeImports
let undisturbed: Outcome

const users = 100_000
const rows = 300_000

beforeAll(async () => {
  stack = await startStack({ workers: 2, env: { IMPORT_LEASE: '5s' } })
  imports = largeImports(stack, { rows, users })
  undisturbed = await (await imports.start()).outcome()
}, 2 * timeoutMs)

afterAll(() => stack.stop())

test('an undisturbed run counts the rows of the file', () => {
  const { invalid } = imports.counts
  expect(undisturbed).toMatchObject({
    state: 'completed',
    rows_total: rows,
    rows_applied: rows - invalid,
    rows_failed: invalid,
    users,
    mails: 1,
  })
})

test(
  'workers that are killed repeatedly are replaced, and no row is lost or applied twice',
  async () => {
    const { importId, untilProgress, killWorker, outcome } = await imports.start()
    for (const progress of [0.1, 0.4, 0.7]) {
      await untilProgress(progress)
      await killWorker()
    }
    expect(await outcome()).toEqual(undisturbed)
    expect((await lastClaim(stack.home, importId))?.attempt).toBe(4)
  },
  2 * timeoutMs,
)

test(
  'a worker that hangs in a transaction is replaced, and cannot write when it wakes up',
  async () => {
    const { importId, untilProgress, outcome } = await imports.start()
    await untilProgress(0.2)
    const sleeper = (await lastClaim(stack.home, importId)) ?? expect.fail('nobody has claimed the import')
    onTestFinished(() => signal(sleeper.pid, 'SIGCONT'))
    await hangInTransaction(sleeper.pid)
    await until('the successor', async () => (await lastClaim(stack.home, importId))?.attempt === sleeper.attempt + 1)
    await untilProgress(0.5)
    signal(sleeper.pid, 'SIGCONT')
    await until('the end of the lost claim', async () => {
      const log = await importLog(stack.home, importId)
      return log.some(({ pid, msg }) => pid === sleeper.pid && msg.startsWith('claim lost'))
    })
    expect(await outcome()).toEqual(undisturbed)
  },
  2 * timeoutMs,
)

/**
 * Stops a worker in a transaction, between the lookup of users and the writes. Repeats this until the worker is caught
 * there. Each stop is shorter than a lease.
 */
async function hangInTransaction(pid: number): Promise<void> {
  await until('a worker caught in a transaction', async () => {
    signal(pid, 'SIGSTOP')
    await until('the end of its query', async () => (await lookupsIn('active')) === 0)
    if ((await lookupsIn('idle in transaction')) > 0) return true
    signal(pid, 'SIGCONT')
    return false
  })
}

/** Returns the number of connections in a state whose last query is a batch's lookup of users. */
async function lookupsIn(state: string): Promise<number> {
  const { rows: found } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where state = ${state} and query ~ 'array_agg.*from (users|profiles)' and pid <> pg_backend_pid()
  `.execute(stack.db)
  return found[0]?.count ?? 0
}
