import { type Database, sql } from '@sluice/database'
import { type LockedMove, MoveRefused } from './move.ts'

/** Number of rows of an app in a table, and a sum of their hashes. */
interface Figures {
  rows: number
  sum: string | null
}

/**
 * Compares the app's rows in source and target as they are at one moment, and returns their number by table. Calls
 * `onSeen` after that moment: what is written later does not matter. Throws {@link MoveRefused} if rows differ.
 */
export async function compareTables(
  move: LockedMove,
  tables: readonly string[],
  onSeen: () => void = () => {},
): Promise<Map<string, number>> {
  const { appId, source, target } = move
  const asText = await tablesHashedAsText(source.db)
  const rows = new Map<string, number>()
  const differing: string[] = []
  await inSnapshot(move.reading, (here) =>
    inSnapshot(target.db, async (there) => {
      onSeen()
      for (const table of tables) {
        const [a, b] = await Promise.all(
          [here, there].map((db) => figuresOf(db, { table, appId, isText: asText.has(table) })),
        )
        if (a?.rows !== b?.rows || a?.sum !== b?.sum) differing.push(table)
        rows.set(table, a?.rows ?? 0)
      }
    }),
  )
  if (differing.length === 0) return rows
  throw new MoveRefused(
    `the rows of app ${appId} differ in ${differing.join(', ')}; the app stays in cell ${source.cell}. --abort, and begin again`,
  )
}

/** Lets a transaction see the database as it is now, however long the other one works. */
async function inSnapshot(db: Database, work: (tx: Database) => Promise<void>): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      // The text of a time depends on the zone.
      await sql`select set_config('idle_in_transaction_session_timeout', '0', true), set_config('TimeZone', 'UTC', true)`.execute(
        tx,
      )
      await work(tx)
    })
}

async function figuresOf(
  db: Database,
  { table, appId, isText }: { table: string; appId: number; isText: boolean },
): Promise<Figures | undefined> {
  const hash = isText ? sql`hashtextextended(t::text, 0)` : sql`hash_record_extended(t, 0)`
  const { rows } = await sql<Figures>`
    select count(*) as rows, sum(${hash})::text as sum from ${sql.table(table)} t where app_id = ${appId}
  `.execute(db)
  return rows[0]
}

/** Returns the tables with a column of type json, which Postgres cannot hash. Text takes three times as long. */
async function tablesHashedAsText(db: Database): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    select distinct c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
    where a.atttypid = 'json'::regtype and c.relnamespace = current_schema()::regnamespace
  `.execute(db)
  return new Set(rows.map(({ name }) => name))
}
