import { sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { expect } from 'vitest'
import { untilInTrigger } from '../faults/harness/import-states.ts'
import { largeChunkOf } from './error-chunk.ts'
import { hold } from './holds.ts'
import {
  claim,
  type ImportFixture,
  openApp,
  openImportFixture,
  queueFile,
  type Result,
  resultOf,
} from './import-fixture.ts'
import { slowReads } from './slow-storage.ts'

/** An import that is half committed and keeps error rows, while tests fill the disk for other imports. */
export interface DiskFullFixture {
  fixture: ImportFixture
  appId: number
  /** Half of this import is committed, and some of its error rows are kept. */
  importId: string
}

const noShutdown = new AbortController().signal
const file = `user_id,n\n${Array.from({ length: 60 }, (_, row) => `ghost${row},1\n`).join('')}`

/** Opens an import fixture with an import that was stopped halfway. `fixture.close` closes it. */
export async function openDiskFullFixture(): Promise<DiskFullFixture> {
  const fixture = await openImportFixture({ BATCH_ROWS: '5', INFERENCE_ROWS: '5' })
  const appId = await openApp(fixture)
  const importId = await queueFile(fixture, appId, file)
  const shutdown = new AbortController()
  const storage = slowReads(fixture.storage, 50, (at) => {
    if (at >= file.length / 2) shutdown.abort()
  })
  const context = { ...fixture.context, storage, shutdown: shutdown.signal }
  await runImport(context, await claim(fixture, appId, importId), shutdown.signal)
  expect(await chunksOf(fixture, importId)).toBeGreaterThan(0)
  return { fixture, appId, importId }
}

/** Returns how many error chunks an import keeps. */
export async function chunksOf(fixture: ImportFixture, importId: string): Promise<number> {
  const { rows } = await sql`select from import_chunks where import_id = ${importId}`.execute(fixture.database.db)
  return rows.length
}

/**
 * Begins to make room on a full disk: a large import keeps many error rows, and the rows of a third import find no
 * room. Returns when the rows are about to be removed, with the outcome of making room and a function that reads the
 * large import.
 */
export async function beginToMakeRoom({
  fixture,
  importId,
}: DiskFullFixture): Promise<{ largest: () => Promise<Result>; made: Promise<unknown> }> {
  const { db } = fixture.database
  const otherApp = await openApp(fixture)
  const largest = await queueFile(fixture, otherApp, file)
  await db.insertInto('import_chunks').values(largeChunkOf(otherApp, largest)).execute()
  await hold(fixture, 'marking', `new.import_id = '${importId}' and new.error_file_ends_before_row > 0`)
  const made = await failOnFullDisk(fixture)
  await untilInTrigger(fixture.database.db)
  return { made: made.outcome, largest: () => resultOf(fixture, otherApp, largest) }
}

/** Begins an import whose error rows find no room. */
export async function failOnFullDisk(fixture: ImportFixture): Promise<{ outcome: Promise<unknown> }> {
  const app = await openApp(fixture)
  const full = await queueFile(fixture, app, file)
  const name = `refuse_${full.replaceAll('-', '')}`
  await run(
    fixture,
    `
    create function ${name}() returns trigger language plpgsql as $$
    begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$;
    create trigger ${name} before insert on import_chunks for each row when (new.import_id = '${full}')
      execute function ${name}()
  `,
  )
  return { outcome: runImport(fixture.context, await claim(fixture, app, full), noShutdown) }
}

/** Runs a statement without parameters. */
export async function run({ database }: ImportFixture, statement: string): Promise<void> {
  await sql.raw(statement).execute(database.db)
}
