import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import type { ValueType } from '@sluice/contract'
import { parse } from 'csv-parse'
import type pg from 'pg'
import type { Column } from './columns.ts'
import { type Contender, ownCpu } from './contender.ts'
import { type BenchPostgres, connectTo } from './postgres.ts'

const rowsAtATime = 1000

const readers: Record<ValueType, (cell: string) => string | number> = {
  string: (cell) => cell,
  int: Number,
  decimal: Number,
  datetime: (cell) => new Date(cell).toISOString(),
}

/**
 * The naive import: csv-parse, row by row, and an INSERT of 1,000 rows that is awaited before the next rows are read.
 */
export function naive(postgres: BenchPostgres, template: string): Contender {
  const database = 'bench_naive'
  return {
    name: 'naive',
    database,
    template,
    profiles: { table: 'profiles', tables: ['users', 'profiles'] },
    async prepare(file) {
      const client = await connectTo(postgres.urlOf(database))
      return {
        async run() {
          const rows: AsyncIterable<string[]> = createReadStream(file.path).pipe(parse({ from_line: 2 }))
          let batch: string[][] = []
          for await (const row of rows) {
            batch.push(row)
            if (batch.length < rowsAtATime) continue
            await insert(client, file.columns, batch)
            batch = []
          }
          await insert(client, file.columns, batch)
          return undefined
        },
        cpu: ownCpu,
        close: () => client.end(),
      }
    },
  }
}

async function insert(client: pg.Client, columns: readonly Column[], rows: readonly string[][]): Promise<void> {
  if (rows.length === 0) return
  const parameters = rows.flatMap(([user, ...cells]) => {
    assert.equal(cells.length, columns.length)
    const entries = columns.map(({ name, type }, index) => [name, readers[type](cells[index] ?? '')])
    return [user, JSON.stringify(Object.fromEntries(entries))]
  })
  const values = rows.map((_, index) => `($${2 * index + 1}, $${2 * index + 2}::jsonb)`)
  await client.query(
    `insert into profiles (app_id, user_id, attributes, updated_at)
    select 1, v.user_id, v.attributes, now()
    from (values ${values.join(', ')}) v (user_id, attributes)
    join users u on u.app_id = 1 and u.user_id = v.user_id
    on conflict (app_id, user_id) do update
    set attributes = profiles.attributes || excluded.attributes, updated_at = now()`,
    parameters,
  )
}
