import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, sql } from '@sluice/database'

/** How often a worker shows that it is alive, ms. */
const interval = 5_000

/** How long the end of a worker may wait to say goodbye, ms: while Postgres is away, it is shown as lost instead. */
const patience = 1_000

/** The signs of life of one worker process. */
export interface Heartbeat {
  /** Says that the worker is at this import, until the work settles. Gives what the work gives. */
  during<Result>(importId: string, work: () => Promise<Result>): Promise<Result>
  /** Says goodbye: an orderly end is told from a crash. */
  stop(): Promise<void>
}

/**
 * Begins to show that this process is alive and what it does, for people to look at: nothing in the service depends on it, so
 * that one that cannot be written is only handed to `onError`.
 *
 * Takes the queues that the process works on.
 */
export function openHeartbeat(db: Database, queues: readonly string[], onError: (error: unknown) => void): Heartbeat {
  const workerId = crypto.randomUUID()
  const imports = new Map<string, number>()
  let writing = Promise.resolve()
  const write = () => {
    writing = writing.then(() => beat(db, { workerId, queues, imports: [...imports.keys()] })).catch(onError)
  }
  write()
  const timer = setInterval(write, interval)
  return {
    async during(importId, work) {
      // The same import may be tried a second time while the first try ends.
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
      const goodbye = writing
        .then(() => db.deleteFrom('workers').where('worker_id', '=', workerId).execute())
        .catch(onError)
      await Promise.race([goodbye, delay(patience, undefined, { ref: false })])
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
