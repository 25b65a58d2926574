import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withSettingsTable } from './settings-table.ts'

test('the table of settings in the README is that of packages/config', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  expect(readme === withSettingsTable(readme), 'run: node scripts/settings-table.ts --write').toBe(true)
})
