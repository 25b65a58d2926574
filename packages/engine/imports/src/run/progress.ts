import { changesFound, type ProgressStatements, type WrittenBatch } from '@sluice/batches'
import { type CompiledQuery, encodeTextArray, mustFind, prepared, type RawBuilder, sql } from '@sluice/database'
import { type ClaimedImport, claimed } from '../order/claim.ts'
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
    recordChanges: (batch, found) => saveChangedRows(run, batch, found),
    // The update comes last, because it adds the bytes of the chunk to `error_bytes`.
    record: (batch) => {
      const update = updateProgress(run, batch, positionBefore(batch.start), roomBytes)
      return batch.keptRows.lineBytes > 0 ? [saveKeptRows(run, batch, roomBytes), update] : [update]
    },
    onCommit: (batch, ms) => {
      const { rows, rowsFailed, types, warnings, end: position } = batch
      const { progress } = run
      const rowsApplied = appliesNothing(claim) ? 0 : rows - rowsFailed
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
      // The rows of a check are counted when they are applied.
      const counted = { rowsApplied, rowsFailed: claim.isCheck ? 0 : rowsFailed }
      context.onBatch?.({ ...counted, bytes: position - positionBefore(batch.start), ms })
    },
    onKnownRows: (profiles) => context.log.info({ profiles }, 'hashes of the profiles read'),
  }
}

/** Returns whether the batches of a claim only check their rows. */
export function appliesNothing({ dryRun, isCheck }: ClaimedImport): boolean {
  return dryRun || isCheck
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
    insert into import_chunks (app_id, import_id, position, content, starts_at, bytes)
    select app_id, import_id, ${end}::bigint, ${keptRows.content()}::bytea, error_bytes, ${keptRows.lineBytes}::bigint
    from imports
    where app_id = ${claim.appId}::integer and import_id = ${claim.importId}::uuid
      and error_bytes <= coalesce(error_room, ${roomBytes}::bigint) and error_file_ends_before_row is null
  `.compile(context.db)
}

/**
 * Returns the statement that notes what a batch changes for {@link updateProgress}, and saves the rows as a chunk of
 * the changes file (changes.md §1, The changes file). As with invalid rows, the first chunk that exceeds the limit is
 * still saved. Of the first one that is not, the number of its first row is noted.
 */
function saveChangedRows({ context, claim }: Run, { end }: { end: number }, found: RawBuilder<unknown>): CompiledQuery {
  return sql`
    with found as materialized (${found}), saved as (
      insert into import_chunks (app_id, import_id, file, position, content, starts_at, bytes)
      select app_id, import_id, 'changes', ${end}::bigint, content, changes_bytes, octet_length(content)
      from imports cross join found
      where app_id = ${claim.appId}::integer and import_id = ${claim.importId}::uuid and content is not null
        and changes_bytes <= ${context.settings.CHANGES_FILE_LIMIT}::bigint and changes_file_ends_before_row is null
    )
    select set_config('sluice.changes', counts::text, true), set_config(
      'sluice.changed_rows', json_build_object('bytes', octet_length(content), 'first', first_row)::text, true)
    from found
  `.compile(context.db)
}

/**
 * The rows that {@link saveChangedRows} has noted in this transaction: their bytes, and the number of the first one.
 */
const changedRows = sql`current_setting('sluice.changed_rows')::json`

/** What a batch adds to the counts of changes in the import's row. */
function changesOf({ context, claim }: Run, { hasChanges }: WrittenBatch) {
  if (!hasChanges) return {}
  // changes.md §1, Counts.
  const counts = { changes: sql<string>`add_counts(imports.changes, ${changesFound})` }
  if (!claim.keepsChanges) return counts
  return {
    ...counts,
    changes_bytes: sql<number>`changes_bytes + coalesce((${changedRows} ->> 'bytes')::bigint, 0)`,
    changes_file_ends_before_row: sql<number | null>`coalesce(changes_file_ends_before_row,
      case when changes_bytes > ${context.settings.CHANGES_FILE_LIMIT}::bigint then (${changedRows} ->> 'first')::bigint end)`,
  }
}

/**
 * Returns the update that sets counters and position and renews the lease. The transaction aborts if the claim is lost
 * or the preceding batch is not committed.
 */
function updateProgress(run: Run, batch: WrittenBatch, precedingEnd: number, roomBytes: number): CompiledQuery {
  const { context, claim, progress } = run
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
      rows_applied: sql<number>`rows_applied + ${appliesNothing(claim) ? 0 : rows - rowsFailed}`,
      rows_failed: sql<number>`rows_failed + ${rowsFailed}`,
      rows_changed: sql<number>`rows_changed + ${batch.rowsChanged}`,
      ...changesOf(run, batch),
      // Adding the counts in the statement saves reading the row first.
      ...(rowsFailed > 0 && { error_counts: batch.errorCounts.addedTo(sql.ref('imports.error_counts')) }),
      // The keys commit with the batch, so that the next worker counts them as well.
      ...(appliesNothing(claim) &&
        registered.length > 0 && {
          previewed_keys: sql<string[]>`previewed_keys || ${encodeTextArray(registered.map(({ key }) => key))}::text[]`,
        }),
      ...(lineBytes > 0 && { error_bytes: sql<number>`error_bytes + ${lineBytes}` }),
      tries: 0,
      lease_until: sql<Date>`now() + make_interval(secs => ${context.settings.IMPORT_LEASE / 1000})`,
    })
  return mustFind(update.returning('position').compile())
}
