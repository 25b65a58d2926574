import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { root } from '../stack/documented-session.ts'

test('Postgres answers each query that docs/operations.md shows to operators and to KEDA', async () => {
  const document = await readFile(join(root, 'docs/operations.md'), 'utf8')
  const queries = [...document.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, query = '']) => query)
  expect(queries.length).toBeGreaterThan(4)
  const database = await openTestDatabase()
  onTestFinished(() => database.close())
  for (const query of queries) await expect(sql.raw(query).execute(database.db), query).resolves.toBeDefined()
})
