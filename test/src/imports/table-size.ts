import { type Database, sql } from '@sluice/database'

/** Returns the size of the table of imports with all values of its rows, bytes. */
export async function sizeOfImports(db: Database): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select pg_table_size('imports') as bytes`.execute(db)
  return rows[0]?.bytes ?? 0
}

/** Removes the pages that deleted rows left in the table of imports: the database may have served other tests. */
export async function compactImports(db: Database): Promise<void> {
  await sql`vacuum full imports`.execute(db)
}
