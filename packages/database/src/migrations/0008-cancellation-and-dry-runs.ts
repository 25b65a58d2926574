import { type Kysely, sql } from 'kysely'

/** Imports that were cancelled, and dry runs, which have a line of their own; how often each message stands in an error file; names of files. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table imports
    drop constraint imports_state_check,
    add constraint imports_state_check check (
      state in ('awaiting_upload', 'queued', 'processing', 'completed', 'failed', 'expired', 'cancelled')
    ),
    add column dry_run boolean not null default false,
    add column report_due boolean not null default false,
    add column error_counts jsonb not null default '{}',
    add column file_name text`,
  // A worker from before this migration takes a dry run for an import: then its batches are refused.
  `alter table imports add constraint imports_dry_run_applies_nothing check (not dry_run or rows_applied = 0)`,
  `drop index imports_one_active_per_app`,
  // The guarantee of order: at most one import of an app is active at any moment, and beside it one dry run.
  `create unique index imports_one_active_per_app on imports (app_id, dry_run) where state = 'processing'`,
  `drop index imports_files_to_remove`,
  `create index imports_files_to_remove on imports (finished_at)
    where files_removed_at is null and state in ('completed', 'failed', 'expired', 'cancelled')`,
  `create index imports_reports_due on imports (lease_until) where report_due`,
]
