import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, isDue, prepared, sql } from '@sluice/database'

/** How many workers host maintenance at a time. A task runs in one of them. */
const maintenanceHosts = 3

/** How many older workers a report counts: the hosts of maintenance and as many workers that are next in line. */
const countedWorkers = 2 * maintenanceHosts

/**
 * How often a worker reports itself, and how long after a report it counts as lost, ms. The hosts of maintenance and
 * the workers next in line are replaced soon. All others report rarely: with 100 idle workers, heartbeats are half of
 * what Postgres does.
 */
const paces = {
  inLine: { intervalMs: 3_000, lostAfterMs: 10_000 },
  behind: { intervalMs: 10_000, lostAfterMs: 25_000 },
}

/** Condition on `workers`: the worker has not reported in time. */
export const isLost = isDue(sql`lost_at`, paces.behind.lostAfterMs)

/**
 * How long a stopping worker waits for its removal, ms. If Postgres is unreachable, the worker is shown as lost
 * instead.
 */
const removalTimeoutMs = 1_000

/** The heartbeat of one worker process. */
export interface Heartbeat {
  /**
   * Resolves when this worker is one of the three oldest live workers that may host maintenance. Never resolves if the
   * process stops before.
   */
  untilMaintenanceHost(): Promise<void>
  /** Shows that the worker is running an import until `work` settles. Returns the result of `work`. */
  during<Result>(importId: string, work: () => Promise<Result>): Promise<Result>
  /** Ends the heartbeat and removes the worker, so that it is not shown as lost. */
  stop(): Promise<void>
}

/**
 * Starts the heartbeat of this process, which shows people that the process is alive and what it does, and selects the
 * workers that host maintenance. A failed write calls `onError`, and the next one follows in 3 to 10 s.
 *
 * `queues` are the queues that the process works on.
 */
export function openHeartbeat(db: Database, queues: readonly string[], onError: (error: unknown) => void): Heartbeat {
  const workerId = crypto.randomUUID()
  const imports = new Map<string, number>()
  const isHost = Promise.withResolvers<void>()
  let pace = paces.inLine
  let nextMs = pace.intervalMs
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let writing = Promise.resolve()
  const beat = async () => {
    const { lostAfterMs, intervalMs } = pace
    const older = await writeHeartbeat(db, { workerId, queues, imports: [...imports.keys()], lostAfterMs })
    pace = older < countedWorkers ? paces.inLine : paces.behind
    // What was just written holds for as long as the pace that it was written at.
    nextMs = Math.min(intervalMs, pace.intervalMs)
    if (older < maintenanceHosts) isHost.resolve()
  }
  const write = () => {
    writing = writing
      .then(beat)
      .catch(onError)
      .then(() => {
        clearTimeout(timer)
        if (!isStopped) timer = setTimeout(write, nextMs)
      })
  }
  write()
  return {
    untilMaintenanceHost: () => isHost.promise,
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
      isStopped = true
      clearTimeout(timer)
      const removal = writing.then(() => removeWorker(db, workerId)).catch(onError)
      await Promise.race([removal, delay(removalTimeoutMs, undefined, { ref: false })])
    },
  }
}

async function removeWorker(db: Database, workerId: string): Promise<void> {
  await db.deleteFrom('workers').where('worker_id', '=', workerId).execute()
}

/** What a worker reports. It counts as lost `lostAfterMs` later, unless it reports again. */
interface Report {
  workerId: string
  queues: readonly string[]
  imports: readonly string[]
  lostAfterMs: number
}

/**
 * Writes a heartbeat. A crash of Postgres may lose it, because nobody waits for the disk. Returns how many live workers
 * that may host maintenance have run for longer than this worker, at most {@link countedWorkers}.
 */
async function writeHeartbeat(db: Database, { workerId, queues, imports, lostAfterMs }: Report): Promise<number> {
  const lostAt = sql`now() + make_interval(secs => ${lostAfterMs / 1_000})`
  const { rows } = await prepared<{ older: number }>`
    insert into workers as own (worker_id, host, pid, queues, import_ids, lost_at)
    values (${workerId}, ${hostname()}, ${process.pid}, ${[...queues]}::text[], ${[...imports]}::uuid[], ${lostAt})
    on conflict (worker_id) do update set import_ids = excluded.import_ids, seen_at = now(), lost_at = excluded.lost_at
    returning (
      select count(*)::integer from (
        select from workers
        where (started_at, worker_id) < (own.started_at, own.worker_id)
          and 'maintenance' = any(queues) and not ${isLost}
        limit ${countedWorkers}
      ) older
    ) as older, set_config('synchronous_commit', 'off', true)
  `.execute(db)
  return rows[0]?.older ?? 0
}
