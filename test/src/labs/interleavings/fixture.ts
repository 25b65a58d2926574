import { readSettings } from '@sluice/config'
import { sql } from '@sluice/database'
import { claimImport, reportCancelled, runImport } from '@sluice/imports'
import { type DeletionFixture, openDeletionFixture } from '../../deletions/deletion-fixture.ts'
import { testStorageSettings } from '../../environment/storage.ts'
import { observe, watchImports } from '../../faults/harness/watcher.ts'
import { profilesOf, resultOf } from '../../imports/import-fixture.ts'
import { type Actor, startActor } from './actor.ts'

/** Long leases and slices: no timer of an import goes off within an order. */
const environment = { IMPORT_LEASE: '10m', IMPORT_SLICE: '1h', UPLOAD_ORDER_WAIT: '1s' }

/** Two actors on one database, whose changes of state are recorded. */
export interface PairFixture extends DeletionFixture {
  actors: [Actor, Actor]
}

export async function openPairFixture(): Promise<PairFixture> {
  const fixture = await openDeletionFixture()
  Object.assign(fixture.context, {
    settings: { ...fixture.context.settings, ...readSettings(environment, ['IMPORT_LEASE', 'IMPORT_SLICE']) },
  })
  await watchImports(fixture.database.db)
  const settings = { databaseUrl: fixture.database.url, storage: testStorageSettings(), environment }
  const actors: [Actor, Actor] = [await startActor(settings), await startActor(settings)]
  return {
    ...fixture,
    actors,
    async close() {
      await Promise.all(actors.map((actor) => actor.close()))
      await fixture.close()
    },
  }
}

/** Lets the lease of an import's claim run out. */
export async function endLease({ database }: PairFixture, importId: string): Promise<void> {
  await database.db
    .updateTable('imports')
    .set({ lease_until: sql<Date>`now() - interval '1 s'` })
    .where('import_id', '=', importId)
    .where('lease_until', 'is not', null)
    .execute()
}

/** Runs an import to its end as the next worker does, or makes the report of a cancelled import. */
export async function finishImport(fixture: PairFixture, appId: number, importId: string): Promise<void> {
  const { context, database } = fixture
  await endLease(fixture, importId)
  await database.db
    .updateTable('imports')
    .set({ retry_at: null })
    .where('import_id', '=', importId)
    .where('retry_at', 'is not', null)
    .execute()
  const claim = await claimImport(context, { appId, importId })
  if (claim !== undefined) await runImport(context, claim, new AbortController().signal)
  await reportCancelled(context)
}

/** What remains of an app after an order, as members and clients see it. */
export async function remainsOf(fixture: PairFixture, appId: number, importIds: readonly string[]) {
  const { db } = fixture.database
  const keys = await db
    .selectFrom('profile_keys')
    .select(['key', 'type'])
    .where('app_id', '=', appId)
    .orderBy('key')
    .execute()
  const imports = []
  for (const importId of importIds) {
    const { view, errorFile } = await resultOf(fixture, appId, importId)
    const { state, error, rows_total, rows_applied, rows_failed } = view
    imports.push({ state, error, rows_total, rows_applied, rows_failed, errors: errorFile?.toString() })
  }
  const mails = await db.selectFrom('mails').select('event').where('app_id', '=', appId).orderBy('event').execute()
  return {
    profiles: await profilesOf(fixture, appId),
    keys: keys.map(({ key, type }) => `${key} ${type}`),
    imports,
    mails: mails.map(({ event }) => event.replace(/[0-9a-f-]{36}/, 'import')),
  }
}

/** Returns the broken rules that the database has recorded, and deletes the recorded changes. */
export async function recordedViolations({ database: { db } }: PairFixture): Promise<string[]> {
  const { violations } = await observe(db, 1_000)
  await sql`delete from watch.changes`.execute(db)
  return violations
}
