import { type ImportState, unfinishedImportStates } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import type { ImportId } from './context.ts'

/**
 * The allowed changes of an import's state, with what makes each change. No statement makes any other change.
 */
export const stateChanges = {
  awaiting_upload: {
    queued: 'intake: storage has the file',
    expired: 'intake: no file came, or the request that carried it failed',
    cancelled: 'cancelling',
  },
  queued: {
    processing: 'claim: the import is next in order',
    cancelled: 'cancelling',
  },
  processing: {
    processing: 'claim: the lease of another worker ran out',
    queued: 'release: retry, shutdown, or end of the slice',
    completed: 'finish: end of the file',
    failed: 'finish: a file that is refused, or no try left',
    held: 'finish: the check found more than the bounds allow',
    cancelled: 'cancelling',
  },
  held: {
    queued: 'approval',
    held: 'claim: nobody approved the import in time',
    failed: 'finish: nobody approved the import in time',
    cancelled: 'cancelling',
  },
  expired: {
    queued: 'intake: the file came late',
  },
  cancelled: {
    cancelled: 'claim: the report is due',
  },
  completed: {},
  failed: {},
} as const satisfies Record<ImportState, Partial<Record<ImportState, string>>>

/** Returns the state of an import; undefined if there is no such import. */
export async function stateOf(db: Database, { appId, importId }: ImportId): Promise<ImportState | undefined> {
  const found = await db
    .selectFrom('imports')
    .select('state')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  return found?.state
}

/** States in which an import begins. */
export type FirstState = 'awaiting_upload' | 'queued'

/** States to which an import may change from every one of the states `From`. */
export type NextState<From extends ImportState> = keyof (typeof stateChanges)[From]

/** States of an import that waits, runs or is held. An expired import has ended, although a late file queues it. */
export type UnfinishedState = (typeof unfinishedImportStates)[number]

/** Returns whether an import in the state `before` may change to the state `after` (design.md §5, States). */
export function isAllowedChange(before: ImportState, after: ImportState): boolean {
  return after in stateChanges[before]
}

/**
 * {@link unfinishedImportStates} for `state in …`. The names are literals, because with parameters the planner could
 * not use the partial indexes on these states.
 */
export const unfinishedStates = sql`(${sql.join(unfinishedImportStates.map((state) => sql.lit(state)))})`

/**
 * Starts the statement that changes the state of imports. Only imports in one of the states `from` change. Does not
 * compile if {@link stateChanges} lacks the change from one of these states to `to`.
 */
export function changeState<From extends ImportState, To extends NextState<From> & ImportState>(
  db: Database,
  from: readonly From[],
  to: To,
) {
  return db
    .updateTable('imports')
    .set({ state: nextState(from, to) })
    .where('state', 'in', from)
}

/**
 * Returns `to`, for a statement that selects imports in the states `from` by its own condition. Does not compile if
 * {@link stateChanges} lacks the change from one of these states to `to`.
 */
export function nextState<From extends ImportState, To extends NextState<From> & ImportState>(
  _from: readonly From[],
  to: To,
): To {
  return to
}
