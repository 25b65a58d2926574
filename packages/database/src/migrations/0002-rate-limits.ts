import { type Kysely, sql } from 'kysely'

/**
 * Counts of requests where there is no Redis (`@sluice/rate-limits`): `expire` is the end of a key's window in epoch ms. A
 * key begins with the app's ID. Unlogged, since a count is worth nothing after a crash; half-empty pages let a count
 * change in place.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create unlogged table rate_limits (
      key text collate "C" primary key,
      points integer not null,
      expire bigint
    ) with (fillfactor = 50)`.execute(db)
}
