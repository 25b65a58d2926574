import { readdirSync, readFileSync } from 'node:fs'
import { importState, unfinishedImportStates } from '@sluice/contract'
import { sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'

// The types of the tables are written by hand. Only their text can be compared: types do not exist at run time.
const folder = new URL('../../../packages/stores/database/src/', import.meta.url)
const source = readdirSync(folder)
  .filter((name) => name.startsWith('schema'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8').replaceAll(/\/\*\*.*?\*\//gs, ''))
  .join('\n')

/** How Postgres's types are read. */
const families: Record<string, string> = {
  boolean: 'boolean',
  bytea: 'Buffer',
  json: 'json',
  jsonb: 'json',
  bigint: 'number',
  'double precision': 'number',
  integer: 'number',
  smallint: 'number',
  'timestamp with time zone': 'Date',
  ARRAY: 'array',
}

/** Returns the family of a column from its TypeScript type, with `?` if it may be null. */
function familyOf(type: string): string {
  // The elements of an array may be null although the column is not.
  const isNullable = /\| null\b|\bNullable/.test(type.replace(/\(.*\)\[\]/, '[]'))
  const found = [
    [/^JSONColumnType<|^ColumnType<.*, string>/, 'json'], // written as text
    [/\[\]/, 'array'],
    [/Timestamp|\bDate\b/, 'Date'],
    [/\bnumber\b/, 'number'],
    [/\bboolean\b/, 'boolean'],
    [/\bBuffer\b/, 'Buffer'],
  ].find(([pattern]) => (pattern as RegExp).test(type))
  return `${found?.[1] ?? 'string'}${isNullable ? '?' : ''}`
}

/** Returns the columns of an interface's body, one a line or between semicolons. */
function columnsIn(body: string): Record<string, string> {
  const columns = [...body.matchAll(/(?:^|[{;])\s*(\w+): ([^;\n]+?)\s*(?=$|[;}])/gm)]
  return Object.fromEntries(columns.map(([, name = '', type = '']) => [name, familyOf(type)]))
}

// design.md §5, Tables.
test('the types of the tables have the columns of the migrated database, as they are read', async () => {
  const database = await openTestDatabase()
  onTestFinished(database.close)
  const { rows } = await sql<{ table: string; column: string; type: string; nullable: boolean }>`
    select table_name as table, column_name as column, data_type as type,
      is_nullable = 'YES' and table_name <> 'campaign_targets' as nullable -- a view has no constraints
    from information_schema.columns where table_schema = 'public' and table_name not like 'kysely%'
      and table_name not in ('import_orders', 'import_places', 'paused_apps', 'waiting_orders') -- only plain SQL reads these views
  `.execute(database.db)
  const stored: Record<string, Record<string, string>> = {}
  for (const { table, column, type, nullable } of rows) {
    stored[table] = { ...stored[table], [column]: `${families[type] ?? 'string'}${nullable ? '?' : ''}` }
  }

  const interfaces = new Map(
    [...source.matchAll(/interface (\w+) \{\n(.*?)\n\}/gs)].map(([, name, body]) => [name, body]),
  )
  const tables = [...(interfaces.get('Schema') ?? '').matchAll(/^ {2}(\w+): (.*)$/gm)]
  const written = tables.map(([, table = '', type = '']) => [table, columnsIn(interfaces.get(type) ?? type)])
  expect(Object.fromEntries(written)).toEqual(stored)
})

test('the states that Postgres takes for unfinished are those of the contract', async () => {
  const database = await openTestDatabase()
  onTestFinished(database.close)
  const { rows } = await sql<{ state: string }>`
    select state from unnest(${importState.options}::text[]) state where is_unfinished_import(state)
  `.execute(database.db)
  expect(rows.map(({ state }) => state)).toEqual(unfinishedImportStates)
})
