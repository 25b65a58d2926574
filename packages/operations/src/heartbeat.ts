import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, sql } from '@sluice/database'
import { isLost } from './workers.ts'

/** Time between two heartbeats, ms. With 100 idle workers, heartbeats are half of what Postgres does. */
const intervalMs = 10_000

/**
 * How long a stopping worker waits for its removal, ms. If Postgres is unreachable, the worker is shown as lost
 * instead.
 */
const removalTimeoutMs = 1_000

/** The heartbeat of one worker process. */
export interface Heartbeat {
  /**
   * Resolves when fewer than `count` of the live workers that may host maintenance have run for longer than this
   * worker. Never resolves if the process stops before.
   */
  untilAmongOldest(count: number): Promise<void>
  /** Shows that the worker is running an import until `work` settles. Returns the result of `work`. */
  during<Result>(importId: string, work: () => Promise<Result>): Promise<Result>
  /** Ends the heartbeat and removes the worker, so that it is not shown as lost. */
  stop(): Promise<void>
}

/**
 * Starts the heartbeat of this process, which shows people that the process is alive and what it does, and tells the
 * oldest workers of a queue from the others. A failed write calls `onError`, and the next one follows in 10 s.
 *
 * `queues` are the queues that the process works on.
 */
export function openHeartbeat(db: Database, queues: readonly string[], onError: (error: unknown) => void): Heartbeat {
  const workerId = crypto.randomUUID()
  const imports = new Map<string, number>()
  const waiting = new Set<{ count: number; resolve(): void }>()
  let writing = Promise.resolve()
  const beat = async () => {
    const older = await writeHeartbeat(db, { workerId, queues, imports: [...imports.keys()] })
    for (const wait of waiting) {
      if (older >= wait.count) continue
      waiting.delete(wait)
      wait.resolve()
    }
  }
  const write = () => {
    writing = writing.then(beat).catch(onError)
  }
  write()
  const timer = setInterval(write, intervalMs)
  return {
    untilAmongOldest: (count) => new Promise((resolve) => waiting.add({ count, resolve })),
    async during(importId, work) {
      // A second attempt of the same import may start before the first attempt has ended.
      imports.set(importId, (imports.get(importId) ?? 0) + 1)
      write()
      try {
        return await work()
      } finally {
        const left = (imports.get(importId) ?? 1) - 1
        if (left === 0) imports.delete(importId)
        else imports.set(importId, left)
        write()
      }
    },
    async stop() {
      clearInterval(timer)
      const removal = writing
        .then(() => db.deleteFrom('workers').where('worker_id', '=', workerId).execute())
        .catch(onError)
      await Promise.race([removal, delay(removalTimeoutMs, undefined, { ref: false })])
    },
  }
}

/**
 * Writes a heartbeat. A crash of Postgres may lose it, because nobody waits for the disk. Returns how many live workers
 * that may host maintenance have run for longer than this worker.
 */
async function writeHeartbeat(
  db: Database,
  { workerId, queues, imports }: { workerId: string; queues: readonly string[]; imports: readonly string[] },
): Promise<number> {
  const { rows } = await sql<{ older: number }>`
    /* prepared */
    insert into workers as own (worker_id, host, pid, queues, import_ids)
    values (${workerId}, ${hostname()}, ${process.pid}, ${[...queues]}::text[], ${[...imports]}::uuid[])
    on conflict (worker_id) do update set import_ids = excluded.import_ids, seen_at = now()
    returning (
      select count(*)::integer from workers
      where (started_at, worker_id) < (own.started_at, own.worker_id)
        and 'maintenance' = any(queues) and not ${isLost(sql`seen_at`)}
    ) as older, set_config('synchronous_commit', 'off', true)
  `.execute(db)
  return rows[0]?.older ?? 0
}
