import { type Database, type Schema, sql } from '@sluice/database'
import type { UpdateObject } from 'kysely'

// States of imports that take a dead worker, a person or days to reach.

/** Changes columns of an import. */
export async function changeImport(
  db: Database,
  importId: string,
  changes: UpdateObject<Schema, 'imports'>,
): Promise<void> {
  await db.updateTable('imports').set(changes).where('import_id', '=', importId).execute()
}

/** Ends the pause after a try that failed: the next try is due. */
export const endPause = (db: Database, importId: string) => changeImport(db, importId, { retry_at: null })

/** Lets the lease of a claim run out, as if its worker had died. */
export const endLease = (db: Database, importId: string) => changeImport(db, importId, { lease_until: new Date(0) })

/** Holds an import for approval. */
export const holdImport = (db: Database, importId: string) => changeImport(db, importId, { state: 'held' })

/** Queues an import whose upload is awaited, as if the file had just been noticed. */
export const queueUpload = (db: Database, importId: string) =>
  changeImport(db, importId, { state: 'queued', queued_at: new Date() })

/** Makes an import that has ended have done so `days` days and a second ago. */
export const endDaysAgo = (db: Database, importId: string, days: number) =>
  changeImport(db, importId, { finished_at: sql<Date>`now() - make_interval(days => ${days}, secs => 1)` })
