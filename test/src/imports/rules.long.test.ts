import { registerKeys } from '@sluice/profiles'
import { expect, test } from 'vitest'
import { importFile, openApp, openImportFixture } from './import-fixture.ts'

test('in a wide file in which every cell is wrong, each row is in the error file once, with a message for each cell', async () => {
  const names = Array.from({ length: 300 }, (_, i) => `a column with a name of some length, number ${i}`)
  const wide = await openImportFixture()
  const appId = await openApp(wide, ['u1'])
  await wide.database.db
    .transaction()
    .execute((tx) => registerKeys(tx, appId, new Map(names.map((name) => [name, 'int'])), 500))
  const header = ['user_id', ...names.map((name) => `"${name}"`)].join(',')
  const { view, errorFile } = await importFile(wide, appId, `${header}\n${`u1${',x'.repeat(300)}\n`.repeat(900)}`)
  expect(view).toMatchObject({ state: 'completed', rows_total: 900, rows_failed: 900 })
  const lines = errorFile?.toString().trimEnd().split('\n') ?? []
  expect(lines).toHaveLength(901)
  expect(new Set(lines.slice(1).map((line) => line.match(/should be integer/g)?.length))).toEqual(new Set([300]))
  await wide.close()
})
