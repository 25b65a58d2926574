import { cellsOf, readRows } from '@sluice/csv'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { propertyRuns } from '../environment/property-runs.ts'
import { fileOf, keys, options, rowsOfEachUser, someRows, users } from './changed-files.ts'
import { type ImportFixture, importFile, openApp, openImportFixture, profilesOf } from './import-fixture.ts'

// What an import changed, against any profiles: the changes file leads from the profiles before it to those after it.
let fixture: ImportFixture
beforeAll(async () => {
  fixture = await openImportFixture({ BATCH_ROWS: '4' })
})
afterAll(() => fixture.close())

type Profiles = Record<string, Record<string, unknown>>

interface Line {
  userId: string
  key: string
  before: unknown
  after: unknown
}

/** Reads a changes file, with values as profiles have them; undefined for no value. */
async function linesOf(changesFile = ''): Promise<Line[]> {
  const lines: Line[] = []
  const value = (text: string, type: string) => {
    if (text === '') return undefined
    if (type === 'datetime') return text.replace('T', ' ').replace('Z', '')
    return type === 'string' ? text : Number(text)
  }
  for await (const block of readRows(
    (async function* () {
      yield Buffer.from(changesFile)
    })(),
    { columns: 5 },
  ))
    for (const row of block.rowEnd.keys()) {
      const [userId = '', key = '', type = '', before = '', after = ''] = cellsOf(block, row).map(String)
      lines.push({ userId, key, before: value(before, type), after: value(after, type) })
    }
  return lines.slice(1)
}

/** Applies the lines to profiles. Each line must name the value that the preceding ones left. */
function replay(profiles: Profiles, lines: readonly Line[]): Profiles {
  const result = structuredClone(profiles)
  for (const { userId, key, before, after } of lines) {
    result[userId] ??= {}
    expect([userId, key, result[userId][key]]).toEqual([userId, key, before])
    expect(after).not.toEqual(before)
    if (after === undefined) delete result[userId][key]
    else result[userId][key] = after
  }
  return result
}

const withValues = (profiles: Profiles) =>
  Object.fromEntries(Object.entries(profiles).filter(([, values]) => Object.keys(values).length > 0))

function countsOf(lines: readonly Line[]) {
  const counts = { added: 0, changed: 0, removed: 0 }
  for (const { before, after } of lines)
    counts[before === undefined ? 'added' : after === undefined ? 'removed' : 'changed']++
  return counts
}

// changes.md §1, Counts; changes.md §1, The changes file.
test('the changes file leads from the profiles before an import to those after it, and the counts are its lines', async () => {
  await fc.assert(
    fc.asyncProperty(someRows, someRows, async (earlier, rows) => {
      const appId = await openApp(fixture, users)
      await importFile(fixture, appId, fileOf(earlier), options)
      const before = await profilesOf(fixture, appId)
      const { view, changesFile } = await importFile(fixture, appId, fileOf(rows), options)
      const lines = await linesOf(changesFile)
      expect(withValues(replay(before, lines))).toEqual(withValues(await profilesOf(fixture, appId)))
      expect(view.changes?.values).toEqual(countsOf(lines))
      for (const key of keys)
        expect(view.changes?.keys[key] ?? countsOf([])).toEqual(countsOf(lines.filter((line) => line.key === key)))
      const { created, changed } = view.changes?.rows ?? { created: 0, changed: 0 }
      expect(view.rows_changed).toBe(created + changed)
    }),
    { numRuns: propertyRuns(80) },
  )
})

// changes.md §1, Dry run and import agree.
test('a dry run of a file that names each user once finds what the import then changes', async () => {
  await fc.assert(
    fc.asyncProperty(someRows, rowsOfEachUser, async (earlier, rows) => {
      const appId = await openApp(fixture, users)
      await importFile(fixture, appId, fileOf(earlier), options)
      const dryRun = await importFile(fixture, appId, fileOf(rows), { ...options, dryRun: true })
      const { view, changesFile } = await importFile(fixture, appId, fileOf(rows), options)
      expect(dryRun.changesFile).toBe(changesFile)
      expect(dryRun.view.changes).toEqual(view.changes)
      expect(dryRun.view.rows_changed).toBe(view.rows_changed)
    }),
    { numRuns: propertyRuns(80) },
  )
})

test('a changes file that reaches its limit has whole rows, and the view names the first row that it lacks', async () => {
  await fc.assert(
    fc.asyncProperty(someRows, fc.integer({ min: 40, max: 400 }), async (rows, limit) => {
      const appIds = [await openApp(fixture, users), await openApp(fixture, users)] as const
      const whole = await importFile(fixture, appIds[0], fileOf(rows), options)
      const settings = { ...fixture.context.settings, CHANGES_FILE_LIMIT: limit }
      const limited = { ...fixture, context: { ...fixture.context, settings } }
      const { view, changesFile = '' } = await importFile(limited, appIds[1], fileOf(rows), options)
      expect(view.changes).toEqual(whole.view.changes)
      expect(whole.changesFile?.startsWith(changesFile)).toBe(true)
      expect(Buffer.byteLength(changesFile)).toBeLessThanOrEqual(limit)
      const covered = rows.slice(0, (view.changes_file_ends_before_row ?? rows.length + 1) - 1)
      const ofCovered = await importFile(fixture, await openApp(fixture, users), fileOf(covered), options)
      expect(changesFile).toBe(ofCovered.changesFile)
    }),
    { numRuns: propertyRuns(40) },
  )
})
