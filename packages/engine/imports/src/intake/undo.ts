import { type Database, sql } from '@sluice/database'
import type { ImportId, RequestContext } from '../context.ts'
import { followsDeletion } from '../retention.ts'
import { type FirstState, unfinishedStates } from '../states.ts'
import { withinWaitingLimit } from './waiting-limit.ts'

/** An import cannot be undone. The message says why, for people. */
export class UndoRefused extends Error {
  override readonly name = 'UndoRefused'
}

/** How an import is undone. */
interface UndoOptions {
  dryRun?: boolean | undefined
  /** Who undoes it, as pages show it. */
  requestedBy?: string | null
}

/**
 * Queues the undo of an import (changes.md §3): a new import at the end of the app's import order, which takes back
 * what the import's changes file says. With `dryRun`, only what it would do is counted. The new import takes over
 * `data_order`: a deletion that follows the data of the import follows the undo, too.
 *
 * Runs `alsoCommit` in the transaction that queues it. Returns the ID of the new import. Throws {@link UndoRefused} and
 * `TooManyWaiting`.
 */
export async function undoImport(
  { db, settings }: Omit<RequestContext, 'storage'>,
  source: ImportId,
  options: UndoOptions = {},
  alsoCommit: (tx: Database, importId: string) => Promise<void> | undefined = () => undefined,
): Promise<string> {
  return await withinWaitingLimit(db, source.appId, settings.WAITING_IMPORTS_LIMIT, async (tx) => {
    await checkUndo(tx, source)
    const importId = await queueUndo(tx, source, options)
    await alsoCommit(tx, importId)
    return importId
  })
}

/** Returns the last dry run of an import's undo, unless it was cancelled; undefined if there is none. */
export async function lastUndoDryRun(db: Database, { appId, importId }: ImportId): Promise<string | undefined> {
  const found = await db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('undo_of', '=', importId)
    .where('dry_run', '=', true)
    .where('state', '<>', 'cancelled')
    .orderBy('sequence_number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found?.import_id
}

async function checkUndo(tx: Database, { appId, importId }: ImportId): Promise<void> {
  const { rows } = await sql<FoundImport>`
    select state in ${unfinishedStates} or report_due as is_unfinished, dry_run, keep_changes and not is_check as keeps_changes,
      changes_file_key is not null and files_removed_at is null and not ${followsDeletion} as is_stored,
      changes_file_ends_before_row as ends_before, undone_by(app_id, import_id) as undone_by
    from imports i where app_id = ${appId} and import_id = ${importId}
  `.execute(tx)
  const reason = rows[0] === undefined ? 'there is no such import' : refusalOf(rows[0])
  if (reason !== undefined) throw new UndoRefused(reason)
}

interface FoundImport {
  is_unfinished: boolean
  dry_run: boolean
  /** It is false as well if the import ended before its check had passed. */
  keeps_changes: boolean
  /** Its changes file is stored, and no deletion has completed that removes it. */
  is_stored: boolean
  ends_before: number | null
  undone_by: string | null
}

// changes.md §3, Allowed.
function refusalOf(found: FoundImport): string | undefined {
  if (found.is_unfinished) return 'it has not ended'
  if (found.dry_run) return 'a dry run changed nothing'
  if (!found.keeps_changes) return 'the import kept no changes'
  if (found.ends_before !== null) return `its changes file ends before row ${found.ends_before}`
  if (!found.is_stored) return 'its changes file was removed'
  return found.undone_by === null ? undefined : `it is already undone by ${found.undone_by}`
}

/** The types of an import, and of the keys that were disabled after some of its rows had changed them. */
const changedTypes = sql<string>`(
  select coalesce(json_object_agg(key, type), '{}') from (
    select key, value as type from json_each_text(types)
    union all
    select k.key, k.type from profile_keys k
    where k.app_id = imports.app_id and changes -> 'keys' ? k.key and types -> k.key is null
  ) changed
)`

async function queueUndo(
  tx: Database,
  { appId, importId }: ImportId,
  { dryRun = false, requestedBy = null }: UndoOptions,
): Promise<string> {
  const { import_id: undoId } = await tx
    .insertInto('imports')
    .columns([
      ...(['app_id', 'source', 'state', 'dry_run', 'undo_of', 'requested_by', 'keep_changes', 'queued_at'] as const),
      ...(['data_order', 'object_key', 'file_name', 'content_type', 'types'] as const),
    ])
    .expression(
      tx
        .selectFrom('imports')
        .select([
          'app_id',
          // changes.md §3, Asking for it.
          sql<'undo'>`'undo'`.as('source'),
          sql<FirstState>`${'queued' satisfies FirstState}`.as('state'),
          sql<boolean>`${dryRun}::boolean`.as('dry_run'),
          'import_id as undo_of',
          sql<string | null>`${requestedBy}::text`.as('requested_by'),
          // changes.md §3, What it does.
          'keep_changes',
          sql<Date>`now()`.as('queued_at'),
          'data_order',
          'changes_file_key as object_key',
          'file_name',
          sql<'application/gzip'>`'application/gzip'`.as('content_type'),
          changedTypes.as('types'),
        ])
        .where('app_id', '=', appId)
        .where('import_id', '=', importId),
    )
    .returning('import_id')
    .executeTakeFirstOrThrow()
  return undoId
}
