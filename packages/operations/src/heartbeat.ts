import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, sql } from '@sluice/database'

/** Time between two heartbeats, ms. */
const intervalMs = 5_000

/**
 * How long a stopping worker waits for its removal, ms. If Postgres is unreachable, the worker is shown as lost
 * instead.
 */
const removalTimeoutMs = 1_000

/** The heartbeat of one worker process. */
export interface Heartbeat {
  /** Shows that the worker is running an import until `work` settles. Returns the result of `work`. */
  during<Result>(importId: string, work: () => Promise<Result>): Promise<Result>
  /** Ends the heartbeat and removes the worker, so that it is not shown as lost. */
  stop(): Promise<void>
}

/**
 * Starts the heartbeat of this process, which shows people that the process is alive and what it does. Nothing in the
 * service depends on the heartbeat, so a failed write only calls `onError`.
 *
 * `queues` are the queues that the process works on.
 */
export function openHeartbeat(db: Database, queues: readonly string[], onError: (error: unknown) => void): Heartbeat {
  const workerId = crypto.randomUUID()
  const imports = new Map<string, number>()
  let writing = Promise.resolve()
  const write = () => {
    writing = writing.then(() => beat(db, { workerId, queues, imports: [...imports.keys()] })).catch(onError)
  }
  write()
  const timer = setInterval(write, intervalMs)
  return {
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

async function beat(
  db: Database,
  { workerId, queues, imports }: { workerId: string; queues: readonly string[]; imports: readonly string[] },
): Promise<void> {
  await sql`
    /* prepared */
    insert into workers (worker_id, host, pid, queues, import_ids)
    values (${workerId}, ${hostname()}, ${process.pid}, ${[...queues]}::text[], ${[...imports]}::uuid[])
    on conflict (worker_id) do update set import_ids = excluded.import_ids, seen_at = now()
  `.execute(db)
}
