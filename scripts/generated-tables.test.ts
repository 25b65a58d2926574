import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tables, withTable } from './generated-tables.ts'
import { root } from './modules.ts'

test.each(tables)('the table of $name in $document is that of the code', (table) => {
  const text = readFileSync(join(root, table.document), 'utf8')
  expect(text === withTable(text, table), 'run: node scripts/generated-tables.ts --write').toBe(true)
})
