import type { Settings } from '@sluice/config'
import { errorFileHeader } from '@sluice/csv'

/** Size of a page of Postgres, and its greatest overhead (headers, and the page's share of the indexes), bytes. */
const [pageBytes, pageOverheadBytes] = [8_192, 512]

/**
 * Returns the bytes that the rows of an error file may take (design.md §3, Error file's size). Neither the file, nor
 * the disk space for its rows in Postgres, then exceeds `ERROR_FILE_LIMIT`. Accepts the columns of the upload.
 */
export function errorRoomBytes(settings: Settings<'ERROR_FILE_LIMIT'>, columns: readonly string[]): number {
  const limitBytes = settings.ERROR_FILE_LIMIT
  return limitBytes - Math.floor(limitBytes / pageBytes) * pageOverheadBytes - errorFileHeader(columns).length
}
