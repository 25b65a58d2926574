import { type Kysely, sql } from 'kysely'

/** Rows of an error file are kept in a short form, up to a limit. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table import_error_chunks add column bytes bigint`,
  // A worker from before this migration would store the short form as it is. The constraint keeps it from ending such an import.
  `alter table imports
    add column error_bytes bigint not null default 0,
    add column error_file_ends_before_row bigint,
    add constraint imports_error_bytes_settled
      check (error_bytes = 0 or report_due or state in ('awaiting_upload', 'queued', 'processing'))`,
]
