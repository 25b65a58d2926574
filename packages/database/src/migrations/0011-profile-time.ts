import { type Kysely, sql } from 'kysely'

/** A batch's first profiles come by `copy`, which takes no expression, such as now(), for a column. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table profiles alter column updated_at set default now()`.execute(db)
}
