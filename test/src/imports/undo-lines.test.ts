import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Database, sql } from '@sluice/database'
import { removeUndoLines, runImport, undoImport } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { endLease, endPause } from './forced-states.ts'
import { claim, importFile, openApp, openImportFixture, profilesOf, resultOf } from './import-fixture.ts'

// An undo loads the lines of its changes file into a table. If lines are missing there, no user may be passed over.
const fixture = openBeforeAll(() => openImportFixture({ BATCH_ROWS: '10000' }))
const never = new AbortController().signal

/** Returns a file with values that hardly compress: storage must give its changes file in several parts. */
function fileOf(users: readonly string[], version: string): string {
  const planOf = (id: string) => createHash('sha256').update(`${version} ${id}`).digest('hex')
  return `user_id,plan\n${users.map((id) => `${id},${planOf(id)}\n`).join('')}`
}

/** Imports two files about so many users, keeps what the second one changed, and requests its undo. */
async function requestUndo(count: number) {
  const users = Array.from({ length: count }, (_, number) => `user-${number}`)
  const appId = await openApp(fixture, users)
  await importFile(fixture, appId, fileOf(users, 'old'))
  const before = await profilesOf(fixture, appId)
  const { view } = await importFile(fixture, appId, fileOf(users, 'new'), { keepChanges: true })
  return { appId, count, before, undoId: await undoImport(fixture.context, { appId, importId: view.import_id }) }
}

/** Runs the undo until it ends, and expects that it has taken everything back. */
async function expectUndone({ appId, count, before, undoId }: Awaited<ReturnType<typeof requestUndo>>) {
  await endPause(fixture.database.db, undoId)
  const ended = await runImport(fixture.context, await claim(fixture, appId, undoId), never)
  expect(ended).toMatchObject({ outcome: 'completed' })
  const { view } = await resultOf(fixture, appId, undoId)
  expect(view).toMatchObject({ rows_total: count, rows_applied: count, rows_failed: 0 })
  expect(await profilesOf(fixture, appId)).toEqual(before)
}

const linesOf = async (db: Database, appId: number) =>
  (await db.selectFrom('undo_lines').select('line').where('app_id', '=', appId).execute()).length

// changes.md §3, What it does.
test('lines that a crash of Postgres removed while others were loaded are loaded again', async () => {
  const undo = await requestUndo(25_000)
  const { db } = fixture.database
  const storage: Storage = {
    ...fixture.storage,
    async read(key, options) {
      const file = Buffer.concat(await (await fixture.storage.read(key, options)).toArray())
      async function* parts() {
        yield file.subarray(0, file.length / 2)
        await until('a part of the lines', async () => (await linesOf(db, undo.appId)) > 0)
        await sql`truncate undo_lines`.execute(db)
        yield file.subarray(file.length / 2)
      }
      return Readable.from(parts())
    },
  }
  const crashed = { ...fixture.context, storage }
  const ended = await runImport(crashed, await claim(fixture, undo.appId, undo.undoId), never)
  expect(ended).toMatchObject({ outcome: 'postponed' })
  await expectUndone(undo)
})

// changes.md §3, What it does.
test('if a deletion removes a part of the lines of a running undo, the next try takes back the rest', async () => {
  const undo = await requestUndo(25_000)
  const removal = new AbortController()
  let removed: Promise<void> | undefined
  const onBatch = () => {
    removed ??= removeUndoLines(fixture.database.db, undo.appId, removal.signal)
    removal.abort()
  }
  const disturbed = { ...fixture.context, onBatch }
  const ended = await runImport(disturbed, await claim(fixture, undo.appId, undo.undoId), never)
  expect(ended).toMatchObject({ outcome: 'postponed' })
  await removed
  expect(await linesOf(fixture.database.db, undo.appId)).toBeGreaterThan(0)
  await expectUndone(undo)
})

// design.md §4, One owner.
test('a worker that has lost its claim removes no lines that its successor loads', async () => {
  const { appId, undoId } = await requestUndo(2)
  const { db } = fixture.database
  const sleeper = await claim(fixture, appId, undoId)
  await endLease(db, undoId)
  await claim(fixture, appId, undoId)
  await sql`
    insert into undo_lines values (${appId}, ${undoId}, 'user-1', 2, '{plan}', '{string}', '{old}', '{new}')
  `.execute(db)
  expect(await runImport(fixture.context, sleeper, never)).toEqual({ outcome: 'lost' })
  expect(await linesOf(db, appId)).toBe(1)
})
