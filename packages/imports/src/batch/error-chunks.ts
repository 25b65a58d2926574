import { type CompiledQuery, type Database, sql } from '@sluice/database'
import type { Claim } from '../order/claim.ts'
import type { PreparedBatch } from './batch.ts'

/**
 * Saves a batch's invalid rows as a chunk of the error file. Accepts the bytes that the rows of the file may take, if this
 * is the first batch.
 *
 * Chunks are saved up to the first one that does not fit, and with it: where the file ends within a chunk is decided when the
 * file is made (`error-file.ts`). So the kept rows depend on the file and the limit alone. This statement must follow the commit
 * of the preceding batch and precede the update that adds this batch's bytes to the sum.
 */
export function saveKeptRows(
  tx: Database,
  { appId, importId }: Claim,
  { keptRows, end }: PreparedBatch,
  errorRoom: number,
): CompiledQuery {
  return sql`
    /* prepared */
    insert into import_error_chunks (app_id, import_id, position, part, content, starts_at, bytes)
    select app_id, import_id, ${end}::bigint, 0, ${keptRows.content()}::bytea, error_bytes, ${keptRows.lineBytes}::bigint
    from imports
    where app_id = ${appId}::integer and import_id = ${importId}::uuid
      and error_bytes <= coalesce(error_room, ${errorRoom}::bigint) and error_file_ends_before_row is null
  `.compile(tx)
}
