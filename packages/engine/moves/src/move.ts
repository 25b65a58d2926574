import { advisoryLocks, type Database, sql } from '@sluice/database'
import { appTables } from '@sluice/deletions'

/** A cell and its database. The connections belong to the owner of the tables, and name the process `move`. */
export interface CellDatabase {
  cell: number
  url: string
  db: Database
}

/** A move of an app from one cell to another. */
export interface Move {
  appId: number
  source: CellDatabase
  target: CellDatabase
}

/** A move whose lock this command holds. */
export interface LockedMove extends Move {
  /** Other connections to the source. They must only read. */
  reading: Database
}

/** A move cannot begin, go on or end as asked. The message is for operators, and says what to do. */
export class MoveRefused extends Error {
  override readonly name = 'MoveRefused'
}

/** The name of the publication, the slot, the subscription and the triggers of a move. */
export const nameOf = ({ appId }: Move): string => `sluice_move_${appId}`

/** The tables whose rows are guarded and compared. The unlogged ones stay behind: workers fill them again. */
export const guardedTables: readonly string[] = [
  'apps',
  ...appTables
    .map(({ name }) => name)
    .filter((name) => !['app_moves', 'undo_lines', 'import_slot_time'].includes(name)),
]

/** The tables that a move copies. Both cells go on writing into the audit log, which stays in the source as well. */
export const movedTables: readonly string[] = [...guardedTables, 'audit_log']

/** A command that hangs for this long loses its connection to the source, and with it the move, s. */
const silenceS = 30

/**
 * Works on a move while no other command does. Everything in the source goes over the one connection that holds the
 * lock: a command that has lost it can change nothing there. Throws {@link MoveRefused} if another command works.
 */
export async function alone<Result>(move: Move, work: (move: LockedMove) => Promise<Result>): Promise<Result> {
  const { appId, source } = move
  return await source.db.connection().execute(async (db) => {
    const { rows } = await sql<{ isAlone: boolean }>`
      select pg_try_advisory_lock(${advisoryLocks.moveOfApp}::integer, ${appId}::integer) as "isAlone"
    `.execute(db)
    if (!rows[0]?.isAlone)
      throw new MoveRefused(`another command moves app ${appId}. If it hangs, it ends after ${silenceS} s`)
    await sql`select set_config('idle_session_timeout', ${`${silenceS}s`}, false)`.execute(db)
    try {
      return await work({ ...move, source: { ...source, db }, reading: source.db })
    } finally {
      const end = sql`select pg_advisory_unlock_all(), set_config('idle_session_timeout', '0', false)`
      await end.execute(db).catch(() => {}) // a broken connection holds no lock
    }
  })
}
