import { type Kysely, sql } from 'kysely'

/**
 * Gives profiles a table of their own: a user's first values are then a plain insert, not a second, larger version of the
 * row that registered the user (docs/performance.md).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // No foreign key: its checks would lock each user of a batch. Whoever deletes users deletes their profiles with them.
  `create table profiles (
    app_id integer not null,
    user_id text collate "C" not null,
    attributes jsonb not null,
    row_hash uuid,
    updated_at timestamptz not null,
    primary key (app_id, user_id)
  )`,
  `lock table users in share row exclusive mode`,
  `insert into profiles (app_id, user_id, attributes, row_hash, updated_at)
    select app_id, user_id, attributes, row_hash, coalesce(updated_at, registered_at) from users where attributes <> '{}'`,
  `alter table users drop column attributes, drop column row_hash, drop column updated_at`,
]
