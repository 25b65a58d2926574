import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { settings } from '../packages/config/src/settings.ts'

const readme = fileURLToPath(new URL('../README.md', import.meta.url))
const [begin, end] = ['<!-- settings: node scripts/settings-table.ts --write -->', '<!-- end of settings -->']

/** The table of settings for the README, from the one list in `packages/config`. */
export function settingsTable(): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const value = 'default' in setting ? `\`${setting.default}\`` : 'optional' in setting ? '' : 'required'
    return `| \`${name}\` | ${value} | ${setting.description} |`
  })
  return ['| setting | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

/** The README with the table as it should be. Throws where the README has lost its markers. */
export function withSettingsTable(text: string): string {
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error('README.md has no markers for the table of settings')
  return `${before}${begin}\n${settingsTable()}\n${end}${after}`
}

if (process.argv.includes('--write')) writeFileSync(readme, withSettingsTable(readFileSync(readme, 'utf8')))
