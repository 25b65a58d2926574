import { createHash } from 'node:crypto'
import { sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { importFile, openApp, openImportFixture } from '../imports/import-fixture.ts'
import { compactImports, sizeOfImports } from '../imports/table-size.ts'

/** The columns of an import's row that each batch sets. */
const setByBatches =
  'columns types position rows_total rows_applied rows_failed rows_changed error_counts error_bytes tries lease_until'.split(
    ' ',
  )

test('no index of imports uses a column that every batch changes: each batch would add an entry to all indexes', async () => {
  const database = await openTestDatabase()
  onTestFinished(database.close)
  const { rows } = await sql<{ column: string; index: string }>`
    select distinct a.attname as column, i.indexrelid::regclass::text as index
    from pg_index i
    join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = i.indrelid
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid
    where i.indrelid = 'imports'::regclass
  `.execute(database.db)
  expect(rows).toContainEqual({ column: 'report_due', index: 'imports_reports_due' })
  expect(rows.filter(({ column }) => setByBatches.includes(column))).toEqual([])
})

test('a batch writes neither header nor types if they are unchanged: a wide file of short rows has many batches', async () => {
  const fixture = await openImportFixture({ BATCH_ROWS: '10', INFERENCE_ROWS: '10' })
  onTestFinished(fixture.close)
  const { db } = fixture.database
  const appId = await openApp(fixture, ['u1'])
  // Random names, which hardly compress.
  const names = Array.from({ length: 400 }, (_, index) => createHash('sha512').update(String(index)).digest('hex'))
  const header = ['user_id', ...names].join(',')
  await compactImports(db)
  const { view } = await importFile(fixture, appId, `${header}\nu1${',1'.repeat(400)}\n${'u1,1\n'.repeat(1_000)}`)
  expect(view).toMatchObject({ state: 'completed', rows_total: 1_001 })
  expect(await sizeOfImports(db)).toBeLessThan(10 * header.length)
})
