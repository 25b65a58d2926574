import { sql } from '@sluice/database'
import { afterCheck } from '../order/approve.ts'
import { ClaimLost, claimed } from '../order/claim.ts'
import { removeChunks } from '../result/drop-rows.ts'
import { holdReasons } from './hold-reasons.ts'
import type { Run } from './run.ts'

/**
 * Returns why the import of a checked file is to be held; of a dry run, why it would be (changes.md §2, The check). All
 * batches must be committed.
 */
export async function reasonsToHold({ context, claim }: Run): Promise<string[]> {
  const { hold_if: holdIf, ...counts } = await context.db
    .selectFrom('imports')
    .select(['hold_if', 'rows_total as rows', 'rows_failed as failed'])
    .select([
      sql<number>`coalesce((changes ->> 'changing')::bigint, 0)`.as('changing'),
      sql<number>`coalesce((changes ->> 'removing')::bigint, 0)`.as('removing'),
      sql<number>`cardinality(previewed_keys)`.as('newKeys'),
    ])
    .where('app_id', '=', claim.appId)
    .where('import_id', '=', claim.importId)
    .executeTakeFirstOrThrow()
  return holdReasons(holdIf, counts)
}

/**
 * Records that the check has passed, and removes everything that it kept. Returns the run that applies the file from
 * its first row on, under the same claim. Throws {@link ClaimLost}, also if more rows are committed than the run has.
 */
export async function passCheck(run: Run): Promise<Run> {
  const { context, claim, progress } = run
  await context.db.transaction().execute(async (tx) => {
    const passed = await claimed({ db: tx }, claim)
      .where('rows_total', '=', progress.rowsTotal)
      .set({ ...afterCheck, check_passed: true })
      .executeTakeFirst()
    if (passed.numUpdatedRows === 0n) throw new ClaimLost()
    await removeChunks(tx, claim)
  })
  context.log.info({ rows_total: progress.rowsTotal }, 'check passed')
  const fromTheStart = {
    columns: null,
    types: {},
    warnings: [],
    spellingCounts: [],
    previewedKeys: [],
    position: 0,
    batchEnd: null,
    batchRows: claim.progress.batchRows,
    rowsTotal: 0,
    rowsApplied: 0,
    rowsFailed: 0,
  }
  return {
    ...run,
    claim: { ...claim, isCheck: false, progress: fromTheStart },
    progress: fromTheStart,
    tries: 0,
    batches: undefined,
  }
}
