import type { ValueType } from '@sluice/contract'
import { registeredKeys, registerKeys } from '@sluice/profiles'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import { type ImportFixture, importFile, openApp, openImportFixture, profilesOf } from './import-fixture.ts'
import { applyTable, type Table } from './model.ts'

const users = ['u1', 'u2', 'ü 3', '"u4", quoted']
const inferenceRows = 3

const texts = [
  '',
  '0',
  '1',
  '-7',
  '+08',
  '2.5',
  '.5',
  '1.e2',
  '1.5e999',
  '1e+05',
  '+1',
  '9007199254740992',
  '2026-01-01',
  '2026-02-30',
  '2024-02-29T23:59:59.9999-23:30',
  '2026-01-01T10:00',
  'x',
  ' ',
  'ä😀',
  'a,b',
  'say "hi"',
  '"',
  'two\nlines',
  'two\r\nlines',
  '\uFEFFbom',
  'x'.repeat(256),
] as const
const bytes = [[0xff], [0x61, 0xc3], [0x00], [0x2c, 0xfe, 0x22], [0xed, 0xa0, 0x80]]

const cell = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...texts).map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.constantFrom(...bytes).map((octets) => Buffer.from(octets)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 5 }).map((text) => Buffer.from(text)) },
)
const userCell = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...users).map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: cell },
)
const names = ['a', 'b b', 'ç', '"quoted"', 'SERVICE_ERRORS', '__proto__', 'constructor']

const table: fc.Arbitrary<Table> = fc
  .tuple(fc.subarray(names, { minLength: 1 }), fc.nat({ max: 7 }))
  .chain(([columns, at]) => {
    const header = columns.toSpliced(at, 0, 'user_id')
    const userAt = header.indexOf('user_id')
    const row = fc
      .tuple(userCell, fc.array(cell, { minLength: userAt, maxLength: header.length + 1 }))
      .map(([user, cells]) => cells.toSpliced(userAt, 0, user))
    return fc.record({ header: fc.constant(header), rows: fc.array(row, { maxLength: 14 }) })
  })

/** A CSV writer that shares no code with the service. `quoteAll` and `lineBreak` choose the form. */
function write({ header, rows }: Table, quoteAll: boolean, lineBreak: string): Buffer {
  const line = (cells: Buffer[]) => {
    const quoted = cells.map((value) => {
      const text = value.toString('latin1')
      return quoteAll || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
    })
    return Buffer.from(quoted.join(',') + lineBreak, 'latin1')
  }
  return Buffer.concat([header.map((name) => Buffer.from(name)), ...rows].map(line))
}

const fixture = openBeforeAll(openImportFixture)

/** Returns the types of an app's keys. */
async function typesOf(appId: number): Promise<Map<string, string>> {
  const keys = await registeredKeys(fixture.database.db, appId)
  return new Map([...keys].map(([key, { type }]) => [key, type]))
}

test('for any table, the import and its dry run match the model in profiles, keys, totals and error file', async () => {
  const types = fc.constantFrom<ValueType>('string', 'int', 'decimal', 'datetime')
  const shape = fc.record({
    first: table,
    table,
    wanted: fc.dictionary(fc.constantFrom(...names), types),
    clearMarker: fc.constantFrom(undefined, 'x', '0', ' ', 'ä😀', '2026-01-01'),
    keys: fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b b', 'ç'), types), { selector: ([key]) => key }),
    batchRows: fc.integer({ min: 1, max: 6 }),
    quoteAll: fc.boolean(),
    lineBreak: fc.constantFrom('\n', '\r\n', '\r\r\n'),
    gzip: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(
      shape,
      async ({ first, table, keys, wanted, clearMarker, batchRows, quoteAll, lineBreak, gzip }) => {
        const settings = { ...fixture.context.settings, BATCH_ROWS: batchRows, INFERENCE_ROWS: inferenceRows }
        const here = { ...fixture, context: { ...fixture.context, settings } }
        const appId = await openApp(here, users)
        await fixture.database.db.transaction().execute((tx) => registerKeys(tx, appId, new Map(keys), 500))
        await importFile(here, appId, write(first, false, '\n'))
        const world = applyTable(first, { users, keys: new Map(keys) }, { batchRows, inferenceRows })
        const declared = Object.fromEntries(
          Object.entries(wanted).filter(
            ([key, type]) =>
              key !== 'SERVICE_ERRORS' && table.header.includes(key) && (world.keys.get(key) ?? type) === type,
          ),
        )
        const options = { gzip, profileTypes: declared, ...(clearMarker !== undefined && { clearMarker }) }

        const file = write(table, quoteAll, lineBreak)
        const untouched = await profilesOf(here, appId)
        const dryRun = await importFile(here, appId, file, { ...options, dryRun: true })
        expect(await typesOf(appId)).toEqual(world.keys)
        expect(await profilesOf(here, appId)).toEqual(untouched)

        const { view, errorFile } = await importFile(here, appId, file, options)
        const { rows_total, rows_failed, types, warnings, state } = view
        expect(dryRun.view).toMatchObject({
          dry_run: true,
          rows_total,
          rows_failed,
          rows_applied: 0,
          types,
          warnings,
          state,
        })
        expect(dryRun.errorFile).toEqual(errorFile)

        const expected = applyTable(table, { users, ...world }, { batchRows, inferenceRows, declared, clearMarker })
        expect(view).toMatchObject({
          state: 'completed',
          rows_total: expected.applied + expected.errors.length,
          rows_applied: expected.applied,
          rows_failed: expected.errors.length,
        })
        expect(new Map(Object.entries(view.types))).toEqual(expected.types)
        expect(await typesOf(appId)).toEqual(expected.keys)
        const profiles = Object.entries(await profilesOf(here, appId))
        expect(new Map(profiles.map(([user, values]) => [user, new Map(Object.entries(values))]))).toEqual(
          expected.profiles,
        )
        expect(await errorCountsOf(here, view.import_id)).toEqual(countsOf(expected.errors))
        expect(errorRows(errorFile)).toEqual(
          expected.errors.map(({ messages, cells }) => [messages, ...cells.map((value) => value.toString('latin1'))]),
        )
      },
    ),
    { numRuns: propertyRuns(60) },
  )
})

async function errorCountsOf({ database }: ImportFixture, importId: string): Promise<Record<string, number>> {
  const { error_counts: counts } = await database.db
    .selectFrom('imports')
    .select('error_counts')
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
  return counts
}

/** Counts rows by message. No name in the tables contains a comma. */
function countsOf(errors: readonly { messages: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const message of errors.flatMap(({ messages }) => messages.split(', ')))
    counts[message] = (counts[message] ?? 0) + 1
  return counts
}

/** Reads the rows of an error file with another parser, as latin1, so that every byte counts. */
function errorRows(file: Buffer | undefined): string[][] {
  if (file === undefined) return []
  const options = { encoding: 'latin1', relax_column_count: true, record_delimiter: '\n', bom: false } as const
  const rows: string[][] = parse(file, options)
  return rows
    .slice(1)
    .map((row) => row.map((value, index) => (index === 0 ? Buffer.from(value, 'latin1').toString() : value)))
}
