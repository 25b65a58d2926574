import { sql } from '@sluice/database'

/**
 * What an insert into `profiles as p` does where the user has a profile: its values come over those that are there. A profile
 * that holds all of them already is not written. The row hash becomes the inserted one: none, where no row of an import is
 * what is inserted.
 */
export const overExistingProfile = sql`
  on conflict (app_id, user_id) do update
    set attributes = p.attributes || excluded.attributes, row_hash = excluded.row_hash, updated_at = excluded.updated_at
    where not p.attributes @> excluded.attributes`
