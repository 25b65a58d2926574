import type { BatchOwner, WrittenBatch } from '@sluice/batches'
import { type CompiledQuery, encodeTextArray, mustFind, sql } from '@sluice/database'
import { claimed } from '../order/claim.ts'
import { errorRoomBytes } from '../result/error-file.ts'
import type { Run } from './run.ts'

/** Records the batches of a run in the import's row, and keeps their invalid rows for the error file. */
export class RecordedProgress implements BatchOwner {
  readonly appId: number
  readonly dataOrder: number
  readonly dryRun: boolean
  readonly #run: Run
  readonly #columns: readonly string[]
  /** Offset of the first row that this run reads. */
  readonly #start: number
  /** Bytes that the rows of the error file may take. The first batch sets this limit in the import's row. */
  readonly #errorRoomBytes: number

  /** Accepts the columns of the file. The run's progress must be as it was committed, except for its position. */
  constructor(run: Run, columns: readonly string[]) {
    const { appId, dataOrder, dryRun } = run.claim
    this.appId = appId
    this.dataOrder = dataOrder
    this.dryRun = dryRun
    this.#run = run
    this.#columns = columns
    this.#start = run.progress.position
    this.#errorRoomBytes = errorRoomBytes(run.context.settings, columns)
  }

  isAt(position: number): CompiledQuery {
    const { context, claim } = this.#run
    return context.db
      .selectFrom('imports')
      .select('position')
      .where('app_id', '=', claim.appId)
      .where('import_id', '=', claim.importId)
      .where('position', '=', this.#committed(position))
      .compile()
  }

  progressTo(batch: WrittenBatch): CompiledQuery[] {
    // The chunk precedes the update, which adds its bytes to `error_bytes`.
    return batch.keptRows.lineBytes > 0 ? [this.#saveKeptRows(batch), this.#update(batch)] : [this.#update(batch)]
  }

  onCommit({ start, end, rows, rowsFailed, types, warnings }: WrittenBatch, ms: number): void {
    const { progress, lease, context } = this.#run
    const rowsApplied = this.dryRun ? 0 : rows - rowsFailed
    this.#run.progress = {
      ...progress,
      types,
      warnings,
      position: end,
      rowsTotal: progress.rowsTotal + rows,
      rowsApplied: progress.rowsApplied + rowsApplied,
      rowsFailed: progress.rowsFailed + rowsFailed,
    }
    this.#run.tries = 0
    lease.renewed()
    context.onBatch?.({ rowsApplied, rowsFailed, bytes: end - this.#committed(start), ms })
  }

  /** Returns the import's position before a row. Before the first row of the file, it is not the end of the header. */
  #committed(start: number): number {
    return start === this.#start ? this.#run.claim.progress.position : start
  }

  /**
   * Returns the statement that saves a batch's invalid rows as a chunk of the error file.
   *
   * The first chunk that exceeds the limit is still saved, and no further one. The file's end within that chunk is found
   * when the file is made (`error-file.ts`). The kept rows therefore depend only on the file and the limit. This
   * statement must follow the commit of the preceding batch.
   */
  #saveKeptRows({ keptRows, end }: WrittenBatch): CompiledQuery {
    const { context, claim } = this.#run
    return sql`
      /* prepared */
      insert into import_error_chunks (app_id, import_id, position, content, starts_at, bytes)
      select app_id, import_id, ${end}::bigint, ${keptRows.content()}::bytea, error_bytes, ${keptRows.lineBytes}::bigint
      from imports
      where app_id = ${claim.appId}::integer and import_id = ${claim.importId}::uuid
        and error_bytes <= coalesce(error_room, ${this.#errorRoomBytes}::bigint) and error_file_ends_before_row is null
    `.compile(context.db)
  }

  /**
   * Returns the update that sets counters and position and renews the lease. The transaction aborts if the claim is lost
   * or the preceding batch is not committed.
   */
  #update(batch: WrittenBatch): CompiledQuery {
    const { context, claim } = this.#run
    const { rows, rowsFailed, spellingCounts, newKeys } = batch
    const { lineBytes } = batch.keptRows
    const isFirst = claim.progress.columns === null && batch.start === this.#start
    const update = claimed(context, claim)
      .where('position', '=', this.#committed(batch.start))
      .set({
        // Columns and types may be longer than the rows of the batch, so they are written only if they have changed.
        ...(isFirst && { columns: JSON.stringify(this.#columns), error_room: this.#errorRoomBytes }),
        ...(batch.hasNewTypes && { types: JSON.stringify(batch.types) }),
        ...((batch.hasNewTypes || spellingCounts.length > 0) && { warnings: JSON.stringify(batch.warnings) }),
        ...(spellingCounts.length > 0 && { spelling_counts: JSON.stringify(spellingCounts) }),
        position: batch.end,
        ...(batch.wholeEnd !== undefined && { batch_end: batch.wholeEnd }),
        rows_total: sql<number>`rows_total + ${rows}`,
        rows_applied: sql<number>`rows_applied + ${this.dryRun ? 0 : rows - rowsFailed}`,
        rows_failed: sql<number>`rows_failed + ${rowsFailed}`,
        rows_changed: sql<number>`rows_changed + ${batch.rowsChanged}`,
        // The statement adds the counts, which saves reading the row first.
        ...(rowsFailed > 0 && { error_counts: batch.errorCounts.addedTo(sql.ref('imports.error_counts')) }),
        // The keys commit with the batch, so that the next worker counts them as well.
        ...(this.dryRun &&
          newKeys.length > 0 && {
            previewed_keys: sql<string[]>`previewed_keys || ${encodeTextArray(newKeys)}::text[]`,
          }),
        ...(lineBytes > 0 && { error_bytes: sql<number>`error_bytes + ${lineBytes}` }),
        tries: 0,
        lease_until: sql<Date>`now() + make_interval(secs => ${context.settings.IMPORT_LEASE / 1000})`,
      })
    return mustFind(update.returning('position').compile())
  }
}
