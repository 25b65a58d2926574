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
  `update imports set holds_order = true where state = 'queued' and position > 0`,
  `drop index imports_one_active_per_app`,
  // The guarantee of order: at most one import of an app is active or partly applied at any moment, and beside it one dry run.
  `create unique index imports_one_active_per_app on imports (app_id, dry_run)
    where state = 'processing' or state = 'queued' and holds_order`,
]
