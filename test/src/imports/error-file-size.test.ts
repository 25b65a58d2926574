import { gzipSync } from 'node:zlib'
import { sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import {
  claim,
  type ImportFixture,
  openApp,
  openAppWithIntegers,
  openImportFixture,
  queueFile,
} from './import-fixture.ts'

// The room that the rows of an error file need in Postgres until the file is stored.
const fixture = openBeforeAll(openImportFixture)

/** Imports a file as gzip until storage refuses the error file. Returns the size of the rows that Postgres keeps. */
async function sizesKept(
  appId: number,
  file: string,
  settings: Partial<ImportFixture['context']['settings']> = {},
): Promise<{ stored: number; unpacked: number }> {
  const storage: Storage = { ...fixture.storage, writeStream: () => Promise.reject(new Error('refused')) }
  const context = { ...fixture.context, storage, settings: { ...fixture.context.settings, ...settings } }
  const importId = await queueFile(fixture, appId, gzipSync(file, { level: 9 }), 'application/gzip')
  const outcome = await runImport(context, await claim(fixture, appId, importId), new AbortController().signal)
  expect(outcome).toEqual({ outcome: 'postponed' })
  const { rows } = await sql<{ stored: number; unpacked: number }>`
    select sum(octet_length(content))::bigint as stored, sum(bytes)::bigint as unpacked
    from import_chunks where import_id = ${importId}
  `.execute(fixture.database.db)
  return rows[0] ?? { stored: 0, unpacked: 0 }
}

// service.md, Error CSV file; design.md §3, Error file's size.
describe('the rows of an error file need room in proportion to the file', () => {
  test('500,000 rows of one letter', async () => {
    const file = `user_id\n${'x\n'.repeat(500_000)}`
    const { stored } = await sizesKept(await openApp(fixture), file)
    expect(stored).toBeLessThanOrEqual(2 * file.length)
  })

  test('360 columns with names of 255 characters, all wrong in 1,000 rows', async () => {
    const names = Array.from({ length: 360 }, (_, i) => `${i}`.padEnd(255, 'n'))
    await expectInProportion(names, `u1${',x'.repeat(360)}\n`.repeat(1_000))
  })

  test('97 columns with names of 250 characters outside the basic plane', async () => {
    const names = Array.from({ length: 97 }, (_, i) => `${String(i).padStart(5, '0')}${'😀'.repeat(250)}`)
    await expectInProportion(names, `u1${',x'.repeat(97)}\n`.repeat(1_000))
  })

  test('25,000 columns for which the rows have no value', async () => {
    const names = Array.from({ length: 25_000 }, (_, i) => i.toString(36))
    const rows = 'x\n'.repeat(2_000)
    const { stored } = await sizesKept(await openApp(fixture), `user_id,${names.join(',')}\n${rows}`)
    expect(stored).toBeLessThanOrEqual(2.1 * rows.length)
  })

  async function expectInProportion(names: readonly string[], rows: string): Promise<void> {
    const appId = await openAppWithIntegers(fixture, names, ['u1'])
    const { stored } = await sizesKept(appId, `user_id,${names.join(',')}\n${rows}`)
    expect(stored).toBeLessThanOrEqual(2.1 * rows.length)
  }
})

// design.md §3, Error file's size.
test('of the rows beyond ERROR_FILE_LIMIT, Postgres keeps nothing', async () => {
  const file = `user_id,n\n${'stranger,1\n'.repeat(2_000)}`
  const { unpacked } = await sizesKept(await openApp(fixture), file, { ERROR_FILE_LIMIT: 10_000, BATCH_ROWS: 100 })
  // The last batch is kept as a whole: the file may end within it.
  expect(unpacked).toBeGreaterThan(10_000 - 'SERVICE_ERRORS,user_id,n\n'.length)
  expect(unpacked).toBeLessThanOrEqual(10_000 + 100 * 'user_id is unregistered user,stranger,1\n'.length)
})
