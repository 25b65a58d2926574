import { fileURLToPath } from 'node:url'
import { readSettings } from '@sluice/config'
import { sql } from '@sluice/database'
import { claimImport, reportCancelled, runImport } from '@sluice/imports'
import { type DeletionFixture, openDeletionFixture } from '../../deletions/deletion-fixture.ts'
import { openScratch } from '../../environment/scratch.ts'
import { testStorageSettings } from '../../environment/storage.ts'
import { bundle } from '../../faults/harness/bundle.ts'
import { recordedHistory, watchImports } from '../../faults/harness/watcher.ts'
import { profilesOf, resultOf } from '../../imports/import-fixture.ts'
import type { History } from '../model/replay.ts'
import { type Actor, startActor } from './actor.ts'

/** Long leases and slices: no timer of an import goes off within an order. */
const environment = { IMPORT_LEASE: '10m', IMPORT_SLICE: '1h', UPLOAD_ORDER_WAIT: '1s' }

/** Actors on one database, whose changes of state are recorded. */
export interface ActorsFixture extends DeletionFixture {
  actors: Actor[]
  /** Replaces the actors that died. */
  revive(): Promise<void>
}

export async function openActorsFixture(count: number): Promise<ActorsFixture> {
  const fixture = await openDeletionFixture()
  Object.assign(fixture.context, {
    settings: { ...fixture.context.settings, ...readSettings(environment, ['IMPORT_LEASE', 'IMPORT_SLICE']) },
  })
  await watchImports(fixture.database.db)
  const folder = await openScratch('sluice-actors-')
  const module = await bundle(fileURLToPath(new URL('actor-thread.ts', import.meta.url)), folder.path)
  const settings = { module, databaseUrl: fixture.database.url, storage: testStorageSettings(), environment }
  const actors = await Promise.all(Array.from({ length: count }, () => startActor(settings)))
  return {
    ...fixture,
    actors,
    async revive() {
      for (const [index, { sessionsAtDeath }] of actors.entries())
        if (sessionsAtDeath !== undefined) actors[index] = await startActor(settings)
    },
    async close() {
      await Promise.all(actors.map((actor) => actor.close()))
      await folder[Symbol.asyncDispose]()
      await fixture.close()
    },
  }
}

/** Lets the leases of all claims run out, except of imports whose rows are locked. */
export async function endLeases({ database }: ActorsFixture): Promise<void> {
  await sql`
    update imports set lease_until = now() - interval '1 s' where import_id in (
      select import_id from imports where lease_until is not null for update skip locked
    )
  `.execute(database.db)
}

/** Runs an import to its end as the next worker does, or makes the report of a cancelled import. */
export async function finishImport(fixture: ActorsFixture, appId: number, importId: string): Promise<void> {
  const { context, database } = fixture
  await endLeases(fixture)
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

/** Returns the first or the last import of an app. */
export async function importOf({ database }: ActorsFixture, appId: number, order: 'asc' | 'desc'): Promise<string> {
  const { import_id: importId } = await database.db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .orderBy('sequence_number', order)
    .executeTakeFirstOrThrow()
  return importId
}

/** What remains of an app after an order, as members and clients see it. */
export async function remainsOf(fixture: ActorsFixture, appId: number, importIds: readonly string[]) {
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

/** Returns the changes of imports that the database has recorded, and deletes them there. */
export async function takeHistory({ database: { db } }: ActorsFixture): Promise<History> {
  const history = await recordedHistory(db, 1_000)
  await sql`delete from watch.changes`.execute(db)
  return history
}
