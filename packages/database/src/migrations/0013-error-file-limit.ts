import { type Kysely, sql } from 'kysely'

/** Rows of an error file are kept in a short form, up to a limit; and room is reserved for removing them from a full disk. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table import_error_chunks add column starts_at bigint, add column bytes bigint`,
  // A worker from before this migration would store the short form as it is. The constraint keeps it from ending such an import.
  `alter table imports
    add column error_bytes bigint not null default 0,
    add column error_file_ends_before_row bigint,
    add constraint imports_error_bytes_settled
      check (error_bytes = 0 or report_due or state in ('awaiting_upload', 'queued', 'processing'))`,
  // 1 MiB. To empty a table with indexes takes some pages. This one has no index, nor values that could be stored apart.
  `create table disk_reserve (filler name not null)`,
  `insert into disk_reserve select '' from generate_series(1, 11000)`,
]
