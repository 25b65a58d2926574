import { expect } from 'vitest'
import { importFile, openAppWithIntegers, openImportFixture } from './import-fixture.ts'

/**
 * Imports a file of `rows` rows in which all 300 values are wrong, under further settings. Expects each row in the
 * error file once, with a message for each value.
 */
export async function expectErrorsOfWideFile(rows: number, settings: Record<string, string> = {}): Promise<void> {
  const names = Array.from({ length: 300 }, (_, i) => `a column with a name of some length, number ${i}`)
  const wide = await openImportFixture(settings)
  const appId = await openAppWithIntegers(wide, names, ['u1'])
  const header = ['user_id', ...names.map((name) => `"${name}"`)].join(',')
  const { view, errorFile } = await importFile(wide, appId, `${header}\n${`u1${',x'.repeat(300)}\n`.repeat(rows)}`)
  expect(view).toMatchObject({ state: 'completed', rows_total: rows, rows_failed: rows })
  const lines = errorFile?.toString().trimEnd().split('\n') ?? []
  expect(lines).toHaveLength(rows + 1)
  expect(new Set(lines.slice(1).map((line) => line.match(/should be integer/g)?.length))).toEqual(new Set([300]))
  await wide.close()
}
