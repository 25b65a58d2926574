import { type CompiledQuery, type Database, prepared } from '@sluice/database'
import type { Claim } from '../order/claim.ts'
import type { PreparedBatch } from './batch.ts'

/**
 * Returns the statement that saves a batch's invalid rows as a chunk of the error file. `errorRoomBytes` is the limit
 * for the rows of the file. Only the first batch uses it: later batches find the limit in the import's row.
 *
 * The first chunk that exceeds the limit is still saved, and no further one. The file's end within that chunk is found
 * when the file is made (`error-file.ts`). The kept rows therefore depend only on the file and the limit. This
 * statement must follow the commit of the preceding batch, and precede the update that adds this batch's bytes to
 * `error_bytes`.
 */
export function saveKeptRows(
  tx: Database,
  { appId, importId }: Claim,
  { keptRows, end }: PreparedBatch,
  errorRoomBytes: number,
): CompiledQuery {
  return prepared`
    insert into import_error_chunks (app_id, import_id, position, content, starts_at, bytes)
    select app_id, import_id, ${end}::bigint, ${keptRows.content()}::bytea, error_bytes, ${keptRows.lineBytes}::bigint
    from imports
    where app_id = ${appId}::integer and import_id = ${importId}::uuid
      and error_bytes <= coalesce(error_room, ${errorRoomBytes}::bigint) and error_file_ends_before_row is null
  `.compile(tx)
}
