import { type Kysely, sql } from 'kysely'

/** The sizes of the parts of uploads to the bucket: together they are at most what one file may have, from the first part on. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table bucket_uploads add column part_bytes bigint not null default 0`,
  `create table bucket_upload_parts (
    app_id integer not null,
    import_id uuid not null,
    part_number integer not null,
    byte_size bigint not null,
    primary key (app_id, import_id, part_number),
    foreign key (app_id, import_id) references bucket_uploads on delete cascade
  )`,
]
