import { type Database, sql } from '@sluice/database'
import { rowsBySlot, slotOf } from './throughput.ts'

/** The slots in which history is recorded. */
const recordedWidth = sql`interval '15 minutes'`

/** How long history is kept. The longest period shown is shorter, so that its first slot is complete. */
const kept = sql`interval '8 days'`

/** The periods that can be shown: the number of slots, and how many seconds each has. */
export const historyPeriods = {
  '24h': { slots: 96, seconds: 15 * 60 },
  '7d': { slots: 84, seconds: 2 * 60 * 60 },
} as const

export type HistoryPeriod = keyof typeof historyPeriods

/** What imports of all apps did in one slot of time. */
export interface HistorySlot {
  start: Date
  /** Rows that imports read. May be a fraction, because an import's rows are spread evenly over its running time. */
  rows: number
  completed: number
  failed: number
  /** The largest number of imports of `waiting_orders`, measured once a minute; undefined if no worker ran. */
  waiting: number | undefined
}

/**
 * Records what imports do, for {@link readHistory}: fills all slots since the last recorded slot, and measures how many
 * imports wait. A slot in which no process recorded gets its rows and ended imports, but not its waiting imports.
 * Removes old slots. Safe to run twice at once.
 */
export async function recordHistory(db: Database): Promise<void> {
  const start = sql`(select start from span)`
  const current = slotOf(sql`now()`, recordedWidth)
  await sql`
    with span as (
      select greatest((select max(slot) from queue_history), ${slotOf(sql`now() - ${kept}`, recordedWidth)}) as start
    ),
    shares as (${rowsBySlot(start, recordedWidth)}),
    ended as (
      select ${slotOf(sql`finished_at`, recordedWidth)} as slot, count(*) filter (where state = 'completed') as completed,
        count(*) filter (where state = 'failed') as failed
      from imports where finished_at >= ${start} group by 1
    ),
    waiting as (
      select count(*) as imports from imports where state = 'queued' and (app_id, dry_run) in (select * from waiting_orders)
    )
    insert into queue_history as recorded (slot, rows_read, completed, failed, waiting, recorded_at)
    select slot, coalesce(shares.rows, 0), coalesce(ended.completed, 0), coalesce(ended.failed, 0),
      case when slot = ${current} then waiting.imports end, now()
    from waiting, generate_series(${start}, ${current}, ${recordedWidth}) as slot
    left join shares using (slot) left join ended using (slot)
    on conflict (slot) do update set rows_read = excluded.rows_read, completed = excluded.completed,
      failed = excluded.failed, waiting = greatest(recorded.waiting, excluded.waiting), recorded_at = excluded.recorded_at
  `.execute(db)
  await sql`delete from queue_history where slot < now() - ${kept}`.execute(db)
}

/** Returns the history of a period by slots, oldest first. The last slot is the current slot. */
export async function readHistory(db: Database, period: HistoryPeriod): Promise<HistorySlot[]> {
  const { slots, seconds } = historyPeriods[period]
  const width = sql`make_interval(secs => ${seconds}::double precision)`
  const current = slotOf(sql`now()`, width)
  const { rows } = await sql<{
    start: Date
    rows: number
    completed: number
    failed: number
    waiting: number | null
  }>`
    select start, coalesce(sum(rows_read), 0)::float8 as rows, coalesce(sum(completed), 0)::int as completed,
      coalesce(sum(failed), 0)::int as failed, max(waiting) as waiting
    from generate_series(${current} - ${slots - 1} * ${width}, ${current}, ${width}) as start
    left join queue_history on slot >= start and slot < start + ${width}
    group by start order by start
  `.execute(db)
  return rows.map((row) => ({ ...row, waiting: row.waiting ?? undefined }))
}

/** Returns when history was recorded last, which maintenance does once a minute; undefined if it never was. */
export async function historyRecordedAt(db: Database): Promise<Date | undefined> {
  const { rows } = await sql<{ at: Date | null }>`select max(recorded_at) as at from queue_history`.execute(db)
  return rows[0]?.at ?? undefined
}
