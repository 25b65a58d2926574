import type { FileOptions } from '@sluice/batches'
import type { HoldIf, NewKeys, ValueType } from '@sluice/contract'
import { sql } from '@sluice/database'

/** The options as an import's row has them. */
export interface OptionsRow {
  profile_types: Record<string, ValueType>
  new_keys: NewKeys
  clear_marker: string | null
  keep_changes: boolean
  hold_if: HoldIf
}

/** The columns of an {@link OptionsRow}. */
export const optionColumns = ['profile_types', 'new_keys', 'clear_marker', 'keep_changes', 'hold_if'] as const

/** Returns the options that an import's row has (second-day.md §1, Declared types). */
export function toOptions(row: OptionsRow): FileOptions {
  return { profileTypes: row.profile_types, newKeys: row.new_keys, clearMarker: row.clear_marker }
}

/** The options that a request may have. Absent and undefined members are the same. */
export type GivenOptions = { [Name in keyof FileOptions]?: FileOptions[Name] | undefined } & {
  /** What the rows change is kept. */
  keepChanges?: boolean | undefined
  /** When the import is held for approval. */
  holdIf?: HoldIf | undefined
}

/**
 * Returns the options as values for an import's row. For new keys, for what changes and for holding, the app's default
 * at the time of the request applies if the request does not choose (changes.md §1, Asking for it;
 * changes.md §2, Asking for it).
 */
export function optionValues(appId: number, options: GivenOptions = {}) {
  const { profileTypes, newKeys, clearMarker, keepChanges, holdIf } = options
  return {
    ...(profileTypes !== undefined && { profile_types: JSON.stringify(profileTypes) }),
    // second-day.md §1, New keys.
    new_keys: newKeys ?? sql<NewKeys>`(select a.new_keys from apps a where a.app_id = ${appId})`,
    clear_marker: clearMarker ?? null,
    keep_changes: keepChanges ?? sql<boolean>`(select a.keep_changes from apps a where a.app_id = ${appId})`,
    hold_if:
      holdIf === undefined
        ? sql<string>`(select a.hold_if from apps a where a.app_id = ${appId})`
        : JSON.stringify(holdIf),
  }
}
