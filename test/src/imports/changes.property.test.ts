import { approveImport } from '@sluice/imports'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import {
  changesIn,
  countsOf,
  fileOf,
  keys,
  options,
  replay,
  rowsOfEachUser,
  someRows,
  users,
  withValues,
} from './changed-files.ts'
import { importFile, openApp, openImportFixture, profilesOf, testApp } from './import-fixture.ts'

// What an import changed, against any profiles: the changes file leads from the profiles before it to those after it.
const fixture = openBeforeAll(() => openImportFixture({ BATCH_ROWS: '4' }))

// changes.md §1, Counts; changes.md §1, The changes file.
test('the changes file leads from the profiles before an import to those after it, and the counts are its lines', async () => {
  await fc.assert(
    fc.asyncProperty(someRows, someRows, async (earlier, rows) => {
      const appId = await openApp(fixture, users)
      await importFile(fixture, appId, fileOf(earlier), options)
      const before = await profilesOf(fixture, appId)
      const { view, changesFile } = await importFile(fixture, appId, fileOf(rows), options)
      const lines = await changesIn(changesFile)
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

// changes.md §2, The check.
test('a file with two columns swapped changes nothing while it is held, and an approval applies it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.subarray(users, { minLength: 1 }), fc.nat(), async (some, n) => {
      const app = testApp(fixture, await openApp(fixture, users))
      const file = (a: string, b: string) =>
        ['user_id,plan,city', ...some.map((user) => `"${user.replace('"', '""')}",${a} ${n},${b} ${n}`)].join('\n')
      await app.importFile(file('plan', 'city'))
      const before = await app.profiles()
      const importId = await app.queue(file('city', 'plan'), 'text/csv', false, { holdIf: { changed_percent: 20 } })
      expect((await app.run(importId)).outcome).toBe('held')
      expect(await app.profiles()).toEqual(before)
      await approveImport(app.db, { appId: app.appId, importId })
      await app.run(importId)
      const swapped = { plan: `city ${n}`, city: `plan ${n}` }
      expect(withValues(await app.profiles())).toEqual(Object.fromEntries(some.map((user) => [user, swapped])))
    }),
    { numRuns: propertyRuns(100) },
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
