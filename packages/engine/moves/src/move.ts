import type { Database } from '@sluice/database'
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

/** A move cannot begin, go on or end as asked. The message is for operators, and says what to do. */
export class MoveRefused extends Error {
  override readonly name = 'MoveRefused'
}

/** The name of the publication, the slot, the subscription and the triggers of a move. */
export const nameOf = ({ appId }: Move): string => `sluice_move_${appId}`

/**
 * The tables that a move copies. The unlogged ones stay behind: workers fill them again. Entries of the audit log are
 * copied, and stay in the source as well.
 */
export const movedTables: readonly string[] = [
  'apps',
  ...appTables
    .map(({ name }) => name)
    .filter((name) => !['app_moves', 'undo_lines', 'import_slot_time'].includes(name)),
  'audit_log',
]
