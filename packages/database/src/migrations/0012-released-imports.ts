import { type Kysely, sql } from 'kysely'

/**
 * An import that was released after it committed a batch keeps its app until it ends. Otherwise an earlier import could run
 * between two of its batches, and no order of the two files would explain the result.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table imports add column holds_order boolean not null default false`,
  // Earlier releases may have let several of an app commit batches: the first one that still waits goes on first.
  `update imports i set holds_order = true where state = 'queued' and position > 0 and not exists (
    select from imports e
    where e.app_id = i.app_id and e.dry_run = i.dry_run and e.import_id <> i.import_id
      and (e.state = 'processing' or e.state = 'queued' and e.position > 0 and e.sequence_number < i.sequence_number)
  )`,
  `drop index imports_one_active_per_app`,
  // The guarantee of order: at most one import of an app is active or partly applied at any moment, and beside it one dry run.
  `create unique index imports_one_active_per_app on imports (app_id, dry_run)
    where state = 'processing' or state = 'queued' and holds_order`,
]
