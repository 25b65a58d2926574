import { type Database, sql } from '@sluice/database'
import { guardedTables, type Move } from './move.ts'

/** Number of rows of an app in a table, and a sum of their hashes. */
interface Figures {
  rows: number
  sum: string | null
}

/** Returns the tables in which the app's rows differ between source and target. */
export async function differingTables({ appId, source, target }: Move): Promise<string[]> {
  const asText = await tablesHashedAsText(source.db)
  const differing: string[] = []
  for (const table of guardedTables) {
    const [here, there] = await Promise.all(
      [source.db, target.db].map((db) => figuresOf(db, { table, appId, isText: asText.has(table) })),
    )
    if (here?.rows !== there?.rows || here?.sum !== there?.sum) differing.push(table)
  }
  return differing
}

async function figuresOf(
  db: Database,
  { table, appId, isText }: { table: string; appId: number; isText: boolean },
): Promise<Figures | undefined> {
  const hash = isText ? sql`hashtextextended(t::text, 0)` : sql`hash_record_extended(t, 0)`
  return await db.transaction().execute(async (tx) => {
    // The text of a time depends on the zone.
    await sql`set local time zone 'UTC'`.execute(tx)
    const { rows } = await sql<Figures>`
      select count(*) as rows, sum(${hash})::text as sum from ${sql.table(table)} t where app_id = ${appId}
    `.execute(tx)
    return rows[0]
  })
}

/** Returns the tables with a column of type json, which Postgres cannot hash. Text takes three times as long. */
async function tablesHashedAsText(db: Database): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    select distinct c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
    where a.atttypid = 'json'::regtype and c.relnamespace = current_schema()::regnamespace
  `.execute(db)
  return new Set(rows.map(({ name }) => name))
}
