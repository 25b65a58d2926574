import { sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'

/** What each batch of an import sets in the import's row. */
const setByBatches =
  'columns types position rows_total rows_applied rows_failed error_counts error_bytes tries lease_until'.split(' ')

test('no index of imports holds or asks for what every batch changes: each batch would make an entry in all of them', async () => {
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
