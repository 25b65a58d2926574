import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { sql } from '@sluice/database'
import { storedProfiles } from '../../environment/database.ts'
import type { ClientApp } from '../../faults/harness/client.ts'
import { changesIn, replay, withValues } from '../../imports/changed-files.ts'
import type { SweepSystem } from './system.ts'

/** Makes all imports of an app keep their changes. */
export async function keepChanges({ db }: SweepSystem, { appId }: ClientApp): Promise<void> {
  await db.updateTable('apps').set({ keep_changes: true }).where('app_id', '=', appId).execute()
}

/**
 * Follows the changes files of an app's imports from users without values, in import order. Returns what does not fit:
 * values before, counts, profiles at the end, rows that are still kept.
 */
export async function changesViolations(system: SweepSystem, { appId }: ClientApp): Promise<string[]> {
  const imports = await system.db
    .selectFrom('imports')
    .select(['import_id', 'changes_file_key', 'changes', 'dry_run'])
    .where('app_id', '=', appId)
    .where('state', 'in', ['completed', 'cancelled'])
    .orderBy('sequence_number')
    .execute()
  const violations: string[] = []
  let profiles: ReturnType<typeof replay> = {}
  for (const { import_id: id, changes_file_key: key, changes, dry_run: isDryRun } of imports) {
    if (key === null) {
      violations.push(`import ${id} has no changes file`)
      continue
    }
    const file = Buffer.concat(await (await system.storage.read(key)).toArray())
    const lines = await changesIn(gunzipSync(file).toString())
    const counted = Object.values(changes?.keys ?? {}).flatMap((counts) => Object.values(counts))
    const count = counted.reduce((sum, each) => sum + each, 0)
    if (count !== lines.length) violations.push(`import ${id} has ${count} changes and ${lines.length} lines`)
    // A dry run compares rows of one user in different batches with the stored profile.
    if (isDryRun) continue
    try {
      profiles = replay(profiles, lines)
    } catch (error) {
      violations.push(`changes file of ${id}: ${error}`)
    }
  }
  const stored = await storedProfiles(system, appId)
  if (!isDeepStrictEqual(withValues(stored), withValues(profiles))) violations.push('changes files lead elsewhere')
  const { rows } = await sql`select from undo_lines where app_id = ${appId}`.execute(system.db)
  return rows.length === 0 ? violations : [...violations, `${rows.length} lines of undos left`]
}
