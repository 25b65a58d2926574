import { execFileSync } from 'node:child_process'
import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { readSettings } from '@sluice/config'
import { connect, migrate, sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { startPostgres } from '@sluice/local-stack'
import { pino } from 'pino'
import { beforeAll, expect, test } from 'vitest'
import { openScratch } from '../environment/scratch.ts'
import { openTestStorage } from '../environment/storage.ts'
import { endPause } from '../imports/forced-states.ts'
import {
  claim,
  fixtureSettings,
  type ImportFixture,
  importFile,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
  type Result,
  resultOf,
} from '../imports/import-fixture.ts'
import { slowReads } from '../imports/slow-storage.ts'
import { mountSmallDisk, type SmallDisk } from './harness/small-disk.ts'

// All tables of Postgres are on a disk with 12 MiB of free space.
let disk: SmallDisk | undefined
let fixture: ImportFixture
const freeBytes = 12 * 2 ** 20
const never = new AbortController().signal

beforeAll(async () => {
  disk = await mountSmallDisk(128 * 2 ** 20)
  if (disk === undefined) return
  const parts = new AsyncDisposableStack()
  parts.defer(disk.remove)
  try {
    fixture = await openSmallDiskFixture(disk, parts)
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
  return () => fixture.close()
})

async function openSmallDiskFixture({ path, fill }: SmallDisk, parts: AsyncDisposableStack): Promise<ImportFixture> {
  const { path: folder } = parts.use(await openScratch('sluice-wal-'))
  const options = { dataDirectory: join(path, 'postgres'), port: 0, settings: { fsync: 'off', autovacuum: 'off' } }
  await (await startPostgres(options)).stop()
  // The WAL stays on the large disk: Postgres crashes if it cannot write the WAL.
  execFileSync('cp', ['-a', join(options.dataDirectory, 'pg_wal'), folder])
  await rm(join(options.dataDirectory, 'pg_wal'), { recursive: true })
  await symlink(join(folder, 'pg_wal'), join(options.dataDirectory, 'pg_wal'))
  const postgres = await startPostgres(options)
  parts.defer(postgres.stop)
  await migrate(postgres.url)
  const connection = connect(postgres.url)
  parts.defer(connection.close)
  const storage = openTestStorage()
  parts.defer(async () => storage.close())
  const settings = readSettings({ API_URL: 'http://api.test' }, fixtureSettings)
  await fill(freeBytes)
  return {
    context: { db: connection.db, storage, settings, log: pino({ level: 'silent' }) },
    database: { ...connection, url: postgres.url },
    storage,
    close: () => parts.disposeAsync(),
  }
}

const small = `user_id,name\n${Array.from({ length: 4_000 }, (_, row) => `${row % 3 === 0 ? 'u' : 'ghost'}${row},name ${row}\n`).join('')}`
const users = Array.from({ length: 4_000 }, (_, row) => `u${row}`)

/** Returns the result of the small file's import on a disk with enough space. */
async function undisturbed(): Promise<Result> {
  const elsewhere = await openImportFixture()
  const result = await importFile(elsewhere, await openApp(elsewhere, users), small)
  await elsewhere.close()
  return result
}

/** Imports the first half of the small file. Returns the import ID. */
async function importHalf(appId: number): Promise<string> {
  const importId = await queueFile(fixture, appId, small)
  const shutdown = new AbortController()
  const storage = slowReads(fixture.storage, 1_000, (at) => {
    if (at >= small.length / 2) shutdown.abort()
  })
  const context = { ...fixture.context, storage, shutdown: shutdown.signal }
  const outcome = await runImport(context, await claim(fixture, appId, importId), shutdown.signal)
  expect(outcome).toEqual({ outcome: 'interrupted' })
  return importId
}

// changes.md §1, The changes file.
test('an import whose changes fill the disk loses the changes, says so, and applies all rows', async (context) => {
  if (disk === undefined) return context.skip()
  const rows = 100_000
  const appId = await openApp(fixture, users.slice(0, 50))
  const text = (row: number) => `${row}`.padEnd(95, 'x')
  const lines = Array.from({ length: rows }, (_, row) => `u${row % 50},${text(row)}\n`)
  const file = `user_id,text\n${lines.join('')}`
  const importId = await queueFile(fixture, appId, file, 'text/csv', false, { keepChanges: true })
  const full = await runImport(fixture.context, await claim(fixture, appId, importId), never)
  expect(full).toEqual({ outcome: 'postponed' })
  await endPause(fixture.database.db, importId)
  const again = await runImport(fixture.context, await claim(fixture, appId, importId), never)
  expect(again).toMatchObject({ outcome: 'completed' })
  const { view, changesFile } = await resultOf(fixture, appId, importId)
  expect(changesFile).toBeUndefined()
  expect(view).toMatchObject({ rows_applied: rows, rows_failed: 0, changes_file_ends_before_row: 1 })
  expect(view.changes?.values).toEqual({ added: 50, changed: rows - 50, removed: 0 })
  expect(await profilesOf(fixture, appId)).toMatchObject({ u49: { text: text(rows - 1) } })
})

test('only the import whose error file fills the disk loses its invalid rows', async (context) => {
  if (disk === undefined) return context.skip()
  const smallApp = await openApp(fixture, users)
  const smallId = await importHalf(smallApp)
  const kept = await sql`select from import_chunks`.execute(fixture.database.db)
  expect(kept.rows).not.toEqual([])

  const rows = 200_000
  const largeApp = await openApp(fixture)
  const largeId = await queueFile(fixture, largeApp, `user_id,text\n${`ghost,${'x'.repeat(95)}\n`.repeat(rows)}`)
  const full = await runImport(fixture.context, await claim(fixture, largeApp, largeId), never)
  expect(full).toEqual({ outcome: 'postponed' })
  expect((await resultOf(fixture, largeApp, largeId)).view).toMatchObject({ error_file_ends_before_row: 1 })

  // The other import now has space for its error file and for new profiles.
  const others = await runImport(fixture.context, await claim(fixture, smallApp, smallId), never)
  expect(others).toMatchObject({ outcome: 'completed' })
  const { view, errorFile } = await resultOf(fixture, smallApp, smallId)
  const expected = await undisturbed()
  expect(errorFile?.equals(expected.errorFile ?? Buffer.alloc(0))).toBe(true)
  expect(view).toMatchObject({ rows_applied: expected.view.rows_applied, rows_failed: expected.view.rows_failed })
  expect(view).not.toHaveProperty('error_file_ends_before_row')

  await endPause(fixture.database.db, largeId)
  const again = await runImport(fixture.context, await claim(fixture, largeApp, largeId), never)
  expect(again).toMatchObject({ outcome: 'completed' })
  const large = await resultOf(fixture, largeApp, largeId)
  expect(large.errorFile).toBeUndefined()
  expect(large.view).toMatchObject({ rows_total: rows, rows_failed: rows, error_file_ends_before_row: 1 })
  const [mail] = await fixture.database.db.selectFrom('mails').select('text').where('app_id', '=', largeApp).execute()
  expect(mail?.text).toContain('There is no error file')
  const { rows: reserved } = await sql`select from disk_reserve limit 1`.execute(fixture.database.db)
  expect(reserved).toHaveLength(1)
})
