import { type Kysely, sql } from 'kysely'

/**
 * Addresses of members are stored in their normal form, so that they are compared as they stand. Postgres's `lower` makes ASCII
 * letters of some others, depending on the locale, and one person could take the identity of another.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const normal = `translate(email, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')`

const statements = [
  `update members set email = ${normal} where email <> ${normal}`,
  `drop index members_by_email`,
  `create index members_by_email on members (email)`,
]
