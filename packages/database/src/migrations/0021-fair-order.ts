import { type Kysely, sql } from 'kysely'

/**
 * Which import runs next, among all apps, and how many could run: what finding out costs depends on the number of apps, whatever
 * each of them has queued.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // Finds the first import of each state, in each app's order of imports and in its order of dry runs.
  `create index imports_in_order on imports (app_id, dry_run, state, sequence_number)
    where state in ('awaiting_upload', 'queued', 'processing')`,
  `drop index imports_order`,
  // Those that wait for a worker: an import that is claimed is dispatched no longer.
  `create index imports_dispatched on imports (dispatched_at)
    where dispatched_at is not null and state in ('queued', 'processing')`,
  `drop index imports_to_dispatch`,

  // How long an app has held slots of workers lately. Unlogged: after a crash, all apps are equal.
  `create unlogged table import_slot_time (
    app_id integer primary key,
    seconds double precision not null,
    noted_at timestamptz not null
  ) with (fillfactor = 50)`,

  // One import and one dry run of an app run at a time. One that waits for a retry holds its place, and no worker.
  `create function runnable_imports() returns bigint language sql stable as $$
    with recursive orders as (
      (
        select app_id, dry_run from imports where state in ('awaiting_upload', 'queued', 'processing')
        order by app_id, dry_run limit 1
      )
      union all
      select following.app_id, following.dry_run from orders cross join lateral (
        select app_id, dry_run from imports
        where state in ('awaiting_upload', 'queued', 'processing')
          and (app_id, dry_run) > (orders.app_id, orders.dry_run)
        order by app_id, dry_run limit 1
      ) following
    )
    select count(*) from orders cross join lateral (
      select coalesce(
        (
          select coalesce(retry_at, '-infinity') from imports i
          where i.app_id = orders.app_id and i.dry_run = orders.dry_run
            and (i.state = 'processing' or i.state = 'queued' and i.holds_order)
          limit 1
        ),
        (
          select coalesce(retry_at, '-infinity') from imports i
          where i.app_id = orders.app_id and i.dry_run = orders.dry_run and i.state = 'queued'
          order by sequence_number limit 1
        )
      ) as retry_at
    ) first where retry_at <= now()
  $$`,
]
