import type { ValueType } from '@sluice/contract'
import { joinedProfileUpdates, registerKeys, registerUsers } from '@sluice/profiles'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import { importFile, openApp, openImportFixture, profilesOf } from '../imports/import-fixture.ts'
import { exportApp } from './export-fixture.ts'

// An export of one app, imported into another app with the same keys, gives equal profiles.
const fixture = openBeforeAll(openImportFixture)

const text = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom(',', '"', '\n', '\r', ' ', '\\', '.', '😀', "'", '\t', '0', '='),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    ),
    minLength: 1,
    maxLength: 12,
  })
  .filter((value) => !value.includes('\0') && value.isWellFormed())
const key = text.filter((value) => !value.startsWith('$') && value !== 'user_id' && value !== 'SERVICE_ERRORS')
const datetime = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  .map((date) => date.toISOString())

const values: Record<ValueType, fc.Arbitrary<string | number>> = {
  string: text,
  int: fc.maxSafeInteger(),
  decimal: fc.double({ noNaN: true, noDefaultInfinity: true }),
  datetime: datetime.map((iso) => iso.replace('T', ' ').replace('Z', '')),
}

const app = fc
  .uniqueArray(fc.record({ key, type: fc.constantFrom<ValueType>('string', 'int', 'decimal', 'datetime') }), {
    selector: (column) => column.key,
    minLength: 1,
    maxLength: 6,
  })
  .chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      users: fc.uniqueArray(
        fc.record({
          userId: text,
          values: fc.tuple(...columns.map(({ type }) => fc.option(values[type], { nil: undefined }))),
        }),
        { selector: ({ userId }) => userId, maxLength: 8 },
      ),
    }),
  )

test('an export of one app, imported into another app, results in equal profiles, and changes its own app nowhere', async () => {
  await fc.assert(
    fc.asyncProperty(app, async ({ columns, users }) => {
      const { db } = fixture.database
      const ids = users.map(({ userId }) => userId)
      const [from, into] = [await openApp(fixture, ids), await openApp(fixture)]
      const types = new Map(columns.map(({ key: name, type }) => [name, type]))
      for (const appId of [from, into]) await db.transaction().execute((tx) => registerKeys(tx, appId, types, 500))
      await registerUsers(db, into, ids)
      const update = joinedProfileUpdates(db, 500)
      for (const user of users) {
        const entries = columns.flatMap(({ key: name, type }, index) => {
          const value = user.values[index]
          return value === undefined ? [] : [{ key: name, type, value }]
        })
        if (entries.length > 0) await update(from, user.userId, entries)
      }
      const exported = await exportApp(fixture, from)
      const imported = await importFile(fixture, into, exported)
      expect(imported.view).toMatchObject({ state: 'completed', rows_failed: 0, rows_total: users.length })
      expect(await profilesOf(fixture, into)).toEqual(await profilesOf(fixture, from))
      expect((await importFile(fixture, from, exported)).view).toMatchObject({ rows_changed: 0, rows_failed: 0 })
    }),
    { numRuns: propertyRuns(60) },
  )
}, 120_000)
