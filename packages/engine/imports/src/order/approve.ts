import { type ImportState, isUuid } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import type { ImportId } from '../context.ts'
import { hasRowsToDrop } from '../result/drop-rows.ts'
import { nextState, stateOf } from '../states.ts'

/** Result of an approval. An import that is not held keeps its state. */
export type Approval = { outcome: 'approved' } | { outcome: 'unknown' } | { outcome: 'not held'; state: ImportState }

/** The columns of an import that is applied after its check, from its first row on. It keeps its place in the order. */
export const afterCheck = {
  columns: null,
  types: '{}',
  warnings: '[]',
  spelling_counts: '[]',
  position: 0,
  batch_end: null,
  tries: 0,
  previewed_keys: sql<string[]>`'{}'`,
  rows_total: 0,
  rows_failed: 0,
  rows_changed: 0,
  changes: '{}',
  error_counts: '{}',
  error_bytes: 0,
  error_room: null,
  error_file_ends_before_row: null,
  error_file_is_utf8: false,
  error_file_key: null,
  error_file_secret: null,
  file_links_expire_at: null,
  changes_bytes: 0,
  changes_file_ends_before_row: null,
  changes_file_key: null,
  changes_file_secret: null,
  held_reasons: null,
  held_at: null,
  held_until: null,
  holds_order: true,
}

/**
 * Approves a held import (changes.md §2, The decision): it is queued, and applied next in its app's order. If a
 * deletion has completed since, which removed the stored check, the import is checked again.
 *
 * A cancelled import cannot be approved.
 */
export async function approveImport(db: Database, { appId, importId }: ImportId): Promise<Approval> {
  if (!isUuid(importId)) return { outcome: 'unknown' }
  const approved = await db
    .updateTable('imports as i')
    .set({
      ...afterCheck,
      state: nextState(['held'], 'queued'),
      check_passed: sql<boolean>`not ${hasRowsToDrop}`,
      attempt: sql<number>`attempt + 1`,
      lease_until: null,
      queued_at: sql<Date>`now()`,
      started_at: null,
    })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('state', '=', 'held')
    .executeTakeFirst()
  if (approved.numUpdatedRows > 0n) return { outcome: 'approved' }
  const state = await stateOf(db, { appId, importId })
  return state === undefined ? { outcome: 'unknown' } : { outcome: 'not held', state }
}
