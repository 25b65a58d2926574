import { type Database, sql } from '@sluice/database'

/** How many app IDs a cell has. */
const idsOfCell = 1_000_000

/** The database belongs to another cell. */
export class OtherCell extends Error {
  override readonly name = 'OtherCell'
}

/** Returns the number of the cell that an app's ID names. Cell 0 has the IDs from 1 to 1,000,000. */
export function cellOf(appId: number): number {
  return Math.floor((appId - 1) / idsOfCell)
}

/**
 * Assigns a new database to a cell: its apps get the IDs of this cell. Does nothing if the database has it already.
 * Throws {@link OtherCell} if the database belongs to another cell, also before its first app.
 */
export async function assignCell(db: Database, cell: number): Promise<void> {
  const { rows } = await sql<{ id: number; isUsed: boolean }>`
    select last_value as id, is_called as "isUsed" from apps_app_id_seq
  `.execute(db)
  const { id, isUsed } = rows[0] ?? { id: 1, isUsed: false }
  if (cellOf(id) === cell) return
  if (isUsed || id !== 1) throw new OtherCell(`the database belongs to cell ${cellOf(id)}, and CELL is ${cell}`)
  const [first, last] = [cell * idsOfCell + 1, (cell + 1) * idsOfCell].map((number) => sql.raw(String(number)))
  await sql`alter table apps alter column app_id set maxvalue ${last} restart with ${first}`.execute(db)
}
