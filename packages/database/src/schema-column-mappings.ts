import type { MappedColumn } from '@sluice/contract'
import type { ColumnType } from 'kysely'
import type { Timestamp } from './timestamps.ts'

/** What becomes of the columns of a file, for the next file with the same column names. */
export interface ColumnMappingsTable {
  app_id: number
  /** SHA-256 of the sorted names of the columns. */
  columns_hash: Buffer
  /** The columns that do not stay as they are. It holds names, never values of a file. */
  mapping: ColumnType<MappedColumn[], string, string>
  kept_at: Timestamp
}
