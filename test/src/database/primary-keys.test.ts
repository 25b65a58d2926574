import { sql } from '@sluice/database'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'

/**
 * Tables that belong to no app: people, processes, migrations, figures of all apps, and counts whose key is text with
 * an app's ID.
 */
const withoutApp = [
  'deleted_apps',
  'disk_reserve',
  'kysely_migration',
  'kysely_migration_lock',
  'operators',
  'provider_accounts',
  'queue_history',
  'rate_limits',
  'service_pause',
  'sessions',
  'sign_in_links',
  'signing_keys',
  'workers',
]

// design.md §5, Primary keys.
test('the primary key of every table with data of an app begins with app_id, so that tables can be sharded by app', async () => {
  const database = await openTestDatabase()
  const { rows } = await sql<{ name: string; first: string | null }>`
    select c.relname as name, a.attname as first
    from pg_class c
    left join pg_index i on i.indrelid = c.oid and i.indisprimary
    left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
    where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
    order by c.relname
  `.execute(database.db)
  await database.close()
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.filter(({ first }) => first !== 'app_id').map(({ name }) => name)).toEqual(withoutApp)
})
