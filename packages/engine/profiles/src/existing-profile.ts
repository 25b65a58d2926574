import { sql } from '@sluice/database'

/**
 * The clause of an insert into `profiles as p` that merges the new values into a profile that exists. New values
 * replace old ones. A profile that already holds all new values is not written. The row hash becomes the inserted hash,
 * which is null unless the values come from a row of an import.
 */
export const mergeIntoExisting = sql`
  on conflict (app_id, user_id) do update
    set attributes = p.attributes || excluded.attributes, row_hash = excluded.row_hash, updated_at = excluded.updated_at
    where not p.attributes @> excluded.attributes`
