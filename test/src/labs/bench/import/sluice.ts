import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { peakMemory } from '../../../memory/peak-memory.ts'
import type { Contender } from './contender.ts'
import { cpuOfTree } from './cpu.ts'
import { templates } from './environment.ts'
import type { MadeFile } from './file.ts'
import type { BenchPostgres } from './postgres.ts'
import { type ImportKind, openStackSession } from './stack-session.ts'
import { type LongestTransactions, TransactionWatch, type WritingTransaction } from './transaction-watch.ts'

/**
 * Pause between two polls of a running import, ms. The import counts as ended at the first poll that observes the end.
 */
const pollMs = 10

/** The longest time that an import may take, ms. */
const longestMs = 15 * 60_000

/**
 * Sluice end to end: with its own worker process, and the file in storage.
 *
 * The time begins before the job is enqueued. It ends when another connection observes that the import is completed,
 * which is after the last batch and the files of the result.
 */
export function sluice(
  postgres: BenchPostgres,
  home: string,
  { database = 'bench_sluice', kind }: { database?: string; kind?: ImportKind } = {},
): Contender {
  return {
    ...{ name: 'Sluice', database, template: templates.sluice },
    async prepare(file) {
      const session = await openStackSession(postgres, database, home)
      await session.upload(file)
      const worker = await session.workerPid()
      assert(worker !== undefined, 'the stack has no worker')
      return {
        async run() {
          const enqueuedAt = Date.now()
          const importId = await session.enqueue(file, kind)
          const seen = await watchImport(session.client, importId, file)
          return {
            queueWait: seen.claimedAt - enqueuedAt,
            firstCommit: seen.firstCommitAt - enqueuedAt,
            longestTransactions: seen.longestTransactions,
            peakMemory: await peakMemory(worker),
          }
        },
        cpu: () => cpuOfTree(worker),
        close: session.close,
      }
    },
  }
}

interface Observation {
  state: string
  error: string | null
  claimed_at: Date | null
  rows_total: number
  rows_failed: number
  /** The time of the poll, ms. */
  at: number
  writing: WritingTransaction[]
}

/** Polls an import until it has ended; times in ms. Throws unless it completed with the counts of its file. */
export async function watchImport(
  client: pg.Client,
  importId: string,
  file: MadeFile,
): Promise<{ claimedAt: number; firstCommitAt: number; longestTransactions: LongestTransactions }> {
  const started = Date.now()
  const transactions = new TransactionWatch(started)
  let firstCommitAt = Number.NaN
  for (;;) {
    const observed = await observe(client, importId)
    if (Number.isNaN(firstCommitAt) && observed.rows_total > 0) firstCommitAt = Date.now()
    transactions.add(observed.at, observed.writing)
    if (observed.state === 'completed' || observed.state === 'failed') {
      const counts = {
        state: observed.state,
        error: observed.error,
        rows: observed.rows_total,
        failed: observed.rows_failed,
      }
      assert.deepEqual(counts, { state: 'completed', error: null, rows: file.written, failed: file.failing })
      const claimedAt = observed.claimed_at?.getTime() ?? Number.NaN
      return { claimedAt, firstCommitAt, longestTransactions: transactions.longest }
    }
    if (Date.now() - started > longestMs) throw new Error(`import ${importId} has not ended in ${longestMs} ms`)
    await delay(pollMs)
  }
}

async function observe(client: pg.Client, importId: string): Promise<Observation> {
  const { rows } = await client.query<Observation>({
    name: 'observed',
    text: `select state, error, started_at as claimed_at, rows_total::int, rows_failed::int,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as at,
        array(
          select json_build_object('xid', backend_xid::text,
            'ageMs', (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8,
            'activity', concat_ws(', ', substring(regexp_replace(query, '/\\*.*?\\*/', '') from '[a-z]+'), wait_event))
          from pg_stat_activity
          where datname = current_database() and application_name = 'sluice' and backend_xid is not null
        ) as writing
      from imports where import_id = $1`,
    values: [importId],
  })
  const observed = rows[0]
  assert(observed !== undefined, `import ${importId} is gone`)
  return observed
}
