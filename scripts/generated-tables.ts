import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { endpoints } from '../apps/api/src/endpoints/index.ts'
import { rateSettings } from '../apps/api/src/rate-limiting.ts'
import { settings } from '../packages/process/config/src/settings.ts'
import { type Module, readModules, root } from './modules.ts'

// Tables in documents that are made from the code:
//   node scripts/generated-tables.ts --write

interface GeneratedTable {
  /** Path from the root. */
  document: string
  /** The name of the table, which stands in the document between `<!-- name: … -->` and `<!-- end of name -->`. */
  name: string
  make(): string
}

export const tables: readonly GeneratedTable[] = [
  { document: 'docs/settings.md', name: 'settings', make: settingsTable },
  { document: 'docs/api.md', name: 'routes', make: routeTable },
  { document: 'CONTRIBUTING.md', name: 'modules', make: () => moduleTable(readModules()) },
]

/** Lists the settings, wrapped to the width of the documents. */
function settingsTable(): string {
  const items = Object.entries({ ...settings, ...rateSettings }).map(([name, setting]) => {
    const notes: string[] = []
    if (!('default' in setting)) notes.push(...('optional' in setting ? [] : ['required']))
    else if (setting.default !== '') notes.push(`\`${setting.default}\``)
    if ('secret' in setting) notes.push('or `_FILE`')
    return wrap(`- \`${name}\`${notes.length > 0 ? ` (${notes.join(', ')})` : ''}: ${setting.description}`)
  })
  return items.join('\n')
}

/** Breaks an item of a list into lines of at most 120 characters. Does not break code. */
function wrap(item: string): string {
  const lines: string[] = []
  for (const [word] of item.matchAll(/(?:`[^`]*`|\S)+/g)) {
    const line = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && line.length <= 120) lines[lines.length - 1] = line
    else lines.push(lines.length === 0 ? word : `  ${word}`)
  }
  return lines.join('\n')
}

/** Lists the endpoints that need a token, with the default of their rate limit. */
function routeTable(): string {
  const rows = endpoints.flatMap(({ method, path, summary, limit, extension }) =>
    limit === undefined ? [] : `| \`${method} ${path}\` | ${summary} | ${limit.rate} | ${extension ? 'ext' : ''} |`,
  )
  return ['| request | does | limit | |', '|---|---|---|---|', ...rows].join('\n')
}

/** Lists the modules by group. Within a group, a module depends on modules that follow it. */
function moduleTable(modules: readonly Module[]): string {
  const byName = new Map(modules.map((module) => [module.name, module]))
  const heightOf = ({ dependencies }: Module): number =>
    Math.max(0, ...dependencies.flatMap((name) => byName.get(name) ?? []).map((each) => 1 + heightOf(each)))
  const groups = Object.groupBy(modules, ({ folder }) => dirname(folder))
  const { packages: alone = [], ...others } = groups
  return [...Object.values(others), alone]
    .flatMap((group = []) => group.toSorted((a, b) => heightOf(b) - heightOf(a)))
    .map(({ folder, description }) => `- \`${folder}\`: ${description}`)
    .join('\n')
}

/** Returns the document's text with the table made anew. Throws if the document has lost the table's markers. */
export function withTable(text: string, { document, name, make }: GeneratedTable): string {
  const begin = `<!-- ${name}: node scripts/generated-tables.ts --write -->`
  const end = `<!-- end of ${name} -->`
  const [preceding, rest] = text.split(begin)
  const following = rest?.split(end)[1]
  if (preceding === undefined || following === undefined)
    throw new Error(`${document} has no markers for the table of ${name}`)
  return `${preceding}${begin}\n${make()}\n${end}${following}`
}

if (process.argv.includes('--write')) {
  for (const table of tables) {
    const path = join(root, table.document)
    writeFileSync(path, withTable(readFileSync(path, 'utf8'), table))
  }
}
