import { type Database, type RawBuilder, sql } from '@sluice/database'

const minutes = 60

/**
 * Returns a query of the rows that the imports of all apps read since `start`, by slots of the given width: `slot`,
 * `rows`. A slot without rows is missing.
 *
 * Only the number of an import's rows and its running time are stored. The query therefore spreads the rows evenly over
 * that time, which results in fractions.
 */
export function rowsBySlot(start: RawBuilder<unknown>, width: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select slot, sum(rows_total * extract(epoch from least(ended_at, slot + ${width}) - greatest(started_at, slot))
      / extract(epoch from ended_at - started_at))::float8 as rows
    from (
      select started_at, greatest(finished_at, started_at + interval '1 millisecond') as ended_at, rows_total
      from imports where finished_at > ${start} and started_at is not null
      union all
      select started_at, greatest(now(), started_at + interval '1 millisecond'), rows_total
      from imports where state = 'processing' and started_at is not null
    ) as ran, generate_series(
      greatest(${slotOf(sql`started_at`, width)}, ${start}), ${slotOf(sql`ended_at`, width)}, ${width}
    ) as slot
    group by slot`
}

/** Returns the beginning of the slot of a time. */
export function slotOf(time: RawBuilder<unknown>, width: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`date_bin(${width}, ${time}, '2000-01-01 00:00:00+00')`
}

/**
 * Returns how many rows the imports of all apps read in each of the last 60 minutes, oldest first. The last minute is
 * the current minute.
 */
export async function rowsByMinute(db: Database): Promise<{ minute: Date; rows: number }[]> {
  const width = sql`interval '1 minute'`
  const start = sql`(select start from span)`
  const { rows } = await sql<{ minute: Date; rows: number }>`
    with span as (select ${slotOf(sql`now()`, width)} - make_interval(mins => ${minutes - 1}) as start),
    shares as (${rowsBySlot(start, width)})
    select slot as minute, coalesce(shares.rows, 0) as rows
    from generate_series(${start}, ${slotOf(sql`now()`, width)}, ${width}) as slot left join shares using (slot)
    order by slot
  `.execute(db)
  return rows
}
