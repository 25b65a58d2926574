import { type Database, sql } from '@sluice/database'

const minutes = 60

/**
 * Returns how many rows the imports of all apps read in each of the last 60 minutes, oldest first. The last minute is
 * the current minute.
 *
 * Only the number of an import's rows and its running time are stored. The rows therefore count as read evenly over
 * that time, in fractions.
 */
export async function rowsByMinute(db: Database): Promise<{ minute: Date; rows: number }[]> {
  const { rows } = await sql<{ minute: Date; rows: number }>`
    with span as (select date_trunc('minute', now()) - make_interval(mins => ${minutes - 1}) as start),
    ran as (
      select started_at, greatest(coalesce(finished_at, now()), started_at + interval '1 millisecond') as ended_at, rows_total
      from imports, span where finished_at > span.start and started_at is not null
      union all
      select started_at, greatest(now(), started_at + interval '1 millisecond'), rows_total
      from imports where state = 'processing' and started_at is not null
    ),
    shares as (
      select minute, rows_total * extract(epoch from
        least(ended_at, minute + interval '1 minute') - greatest(started_at, minute)
      ) / extract(epoch from ended_at - started_at) as rows
      from ran, span, generate_series(
        greatest(date_trunc('minute', started_at), span.start), date_trunc('minute', ended_at), interval '1 minute'
      ) as minute
    )
    select minute, coalesce(sum(shares.rows), 0)::float8 as rows
    from span, generate_series(span.start, date_trunc('minute', now()), interval '1 minute') as minute
    left join shares using (minute)
    group by minute order by minute
  `.execute(db)
  return rows
}
