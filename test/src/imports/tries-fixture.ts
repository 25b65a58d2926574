import { sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import pg from 'pg'
import { expect } from 'vitest'
import { endPause } from './forced-states.ts'
import {
  claim,
  type ImportFixture,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
  resultOf,
} from './import-fixture.ts'

/** Number of tries that an import has in these tests. */
export const attempts = 3

const file = 'user_id,city\nann,Graz\nbob,Linz\nnobody,Wien\n'

const noShutdown = new AbortController().signal

/** Runs the tries of an app's imports one by one. */
export interface TriesFixture extends ImportFixture {
  appId: number
  queue(): Promise<string>
  runOnce(importId: string, context?: ImportFixture['context']): Promise<string>
  triesOf(importId: string): Promise<number>
  /** Expects that an import of {@link file} has completed. */
  expectCompleted(importId: string): Promise<void>
  /** Locks the profile of one of the file's users on another connection. Returns a function that releases the lock. */
  lockProfile(): Promise<() => Promise<void>>
}

/** Opens an import fixture with an app that has two of the users of {@link file}. */
export async function openTriesFixture(): Promise<TriesFixture> {
  const fixture = await openImportFixture({ IMPORT_ATTEMPTS: String(attempts) })
  const appId = await openApp(fixture, ['ann', 'bob'])
  const { db } = fixture.database

  async function runOnce(importId: string, context = fixture.context): Promise<string> {
    await endPause(db, importId)
    return (await runImport(context, await claim(fixture, appId, importId), noShutdown)).outcome
  }

  return {
    ...fixture,
    appId,
    queue: () => queueFile(fixture, appId, file),
    runOnce,
    async triesOf(importId) {
      const found = db.selectFrom('imports').select('tries').where('import_id', '=', importId)
      return (await found.executeTakeFirstOrThrow()).tries
    },
    async expectCompleted(importId) {
      expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'completed', rows_applied: 2 })
      expect(await profilesOf(fixture, appId)).toEqual({ ann: { city: 'Graz' }, bob: { city: 'Linz' } })
    },
    async lockProfile() {
      await runOnce(await queueFile(fixture, appId, 'user_id,city\nann,Rom\n'))
      const writer = new pg.Client({ connectionString: fixture.database.url })
      writer.on('error', () => {}) // the database closes first if the test fails
      await writer.connect()
      await writer.query('begin')
      await writer.query("select from profiles where user_id = 'ann' for update")
      return () => writer.end()
    },
  }
}

/** Makes every batch fail at its last statement, by `statement` in PL/pgSQL. */
export async function failBatches({ database }: ImportFixture, statement: string): Promise<void> {
  await sql
    .raw(`
    create function fail_batch() returns trigger language plpgsql as $$ begin ${statement}; return new; end $$;
    create trigger fail_batch before update on imports for each row
      when (old.position <> new.position) execute function fail_batch()
  `)
    .execute(database.db)
}

/** Returns the statement that raises an error with an SQLSTATE. */
export function raise(code: string): string {
  return `raise exception using errcode = '${code}', message = 'as expected'`
}

/** Expects that a try does not count if `statement` ends each of its batches, and that the import completes later. */
export async function expectUncounted(tries: TriesFixture, statement: string): Promise<void> {
  const importId = await tries.queue()
  await failBatches(tries, statement)
  for (let attempt = 0; attempt < attempts + 2; attempt++) expect(await tries.runOnce(importId)).toBe('postponed')
  expect(await tries.triesOf(importId)).toBe(0)
  await sql`drop trigger fail_batch on imports`.execute(tries.database.db)
  expect(await tries.runOnce(importId)).toBe('completed')
  await tries.expectCompleted(importId)
}
