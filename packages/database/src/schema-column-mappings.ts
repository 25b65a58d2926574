import type { MappedColumn } from '@sluice/contract'
import type { ColumnType } from 'kysely'
import type { Timestamp } from './timestamps.ts'

/** What becomes of a file's columns. The mapping is kept for the next file with the same column names. */
export interface ColumnMappingsTable {
  app_id: number
  /** SHA-256 of the sorted names of the columns. */
  columns_hash: Buffer
  /** The columns that are renamed, left out or rewritten. The mapping holds names, never values of a file. */
  mapping: ColumnType<MappedColumn[], string, string>
  kept_at: Timestamp
}
