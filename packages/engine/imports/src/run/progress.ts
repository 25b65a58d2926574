import type { ProgressStatements, WrittenBatch } from '@sluice/batches'
import { type CompiledQuery, encodeTextArray, mustFind, prepared, sql } from '@sluice/database'
import { claimed } from '../order/claim.ts'
import { errorRoomBytes } from '../result/error-file.ts'
import type { Run } from './run.ts'

/**
 * Returns how the batches of a run are recorded (service.md, Error CSV file; design.md §3, Error file's size): in the
 * import's row, and their invalid rows for the error file. The file must be open, and no batch of this run committed.
 */
export function progressStatements(run: Run): ProgressStatements {
  const { context, claim } = run
  const { columns, position: firstRow } = run.progress
  // Only the first batch uses this limit: later batches find it in the import's row.
  const roomBytes = errorRoomBytes(context.settings, columns ?? [])
  // Before the first row of the file, the import's position is not the end of the header.
  const positionBefore = (start: number) => (start === firstRow ? claim.progress.position : start)
  return {
    isAt: (start) =>
      context.db
        .selectFrom('imports')
        .select('position')
        .where('app_id', '=', claim.appId)
        .where('import_id', '=', claim.importId)
        .where('position', '=', positionBefore(start))
        .compile(),
    // The update comes last, because it adds the bytes of the chunk to `error_bytes`.
    record: (batch) => {
      const update = updateProgress(run, batch, positionBefore(batch.start), roomBytes)
      return batch.keptRows.lineBytes > 0 ? [saveKeptRows(run, batch, roomBytes), update] : [update]
    },
    onCommit: (batch, ms) => {
      const { rows, rowsFailed, types, warnings, end: position } = batch
      const { progress } = run
      const rowsApplied = claim.dryRun ? 0 : rows - rowsFailed
      run.progress = {
        ...progress,
        types,
        warnings,
        position,
        rowsTotal: progress.rowsTotal + rows,
        rowsApplied: progress.rowsApplied + rowsApplied,
        rowsFailed: progress.rowsFailed + rowsFailed,
      }
      run.tries = 0
      run.lease.renewed()
      context.onBatch?.({ rowsApplied, rowsFailed, bytes: position - positionBefore(batch.start), ms })
    },
  }
}

/**
 * Returns the statement that saves a batch's invalid rows as a chunk of the error file. Accepts the limit of the file.
 *
 * The first chunk that exceeds the limit is still saved, and no further one. The file's end within that chunk is found
 * when the file is made (`error-file.ts`). The kept rows therefore depend only on the file and the limit. This
 * statement must follow the commit of the preceding batch.
 */
function saveKeptRows({ context, claim }: Run, { keptRows, end }: WrittenBatch, roomBytes: number): CompiledQuery {
  return prepared`
    insert into import_error_chunks (app_id, import_id, position, content, starts_at, bytes)
    select app_id, import_id, ${end}::bigint, ${keptRows.content()}::bytea, error_bytes, ${keptRows.lineBytes}::bigint
    from imports
    where app_id = ${claim.appId}::integer and import_id = ${claim.importId}::uuid
      and error_bytes <= coalesce(error_room, ${roomBytes}::bigint) and error_file_ends_before_row is null
  `.compile(context.db)
}

/**
 * Returns the update that sets counters and position and renews the lease. The transaction aborts if the claim is lost
 * or the preceding batch is not committed.
 */
function updateProgress(
  { context, claim, progress }: Run,
  batch: WrittenBatch,
  precedingEnd: number,
  roomBytes: number,
): CompiledQuery {
  const { rows, rowsFailed, spellingCounts, registered } = batch
  const { lineBytes } = batch.keptRows
  const isFirst = claim.progress.columns === null && precedingEnd === claim.progress.position
  const update = claimed(context, claim)
    .where('position', '=', precedingEnd)
    .set({
      // Columns and types may be longer than the rows of the batch, so they are written only if they have changed.
      ...(isFirst && { columns: JSON.stringify(progress.columns), error_room: roomBytes }),
      ...(batch.hasNewTypes && { types: JSON.stringify(batch.types) }),
      ...((batch.hasNewTypes || spellingCounts.length > 0) && { warnings: JSON.stringify(batch.warnings) }),
      ...(spellingCounts.length > 0 && { spelling_counts: JSON.stringify(spellingCounts) }),
      position: batch.end,
      ...(batch.wholeEnd !== undefined && { batch_end: batch.wholeEnd }),
      rows_total: sql<number>`rows_total + ${rows}`,
      rows_applied: sql<number>`rows_applied + ${claim.dryRun ? 0 : rows - rowsFailed}`,
      rows_failed: sql<number>`rows_failed + ${rowsFailed}`,
      rows_changed: sql<number>`rows_changed + ${batch.rowsChanged}`,
      // Adding the counts in the statement saves reading the row first.
      ...(rowsFailed > 0 && { error_counts: batch.errorCounts.addedTo(sql.ref('imports.error_counts')) }),
      // The keys commit with the batch, so that the next worker counts them as well.
      ...(claim.dryRun &&
        registered.length > 0 && {
          previewed_keys: sql<string[]>`previewed_keys || ${encodeTextArray(registered.map(({ key }) => key))}::text[]`,
        }),
      ...(lineBytes > 0 && { error_bytes: sql<number>`error_bytes + ${lineBytes}` }),
      tries: 0,
      lease_until: sql<Date>`now() + make_interval(secs => ${context.settings.IMPORT_LEASE / 1000})`,
    })
  return mustFind(update.returning('position').compile())
}
