import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { settings } from '../packages/process/config/src/settings.ts'
import { readModules, root } from './modules.ts'

const documents = [
  ...readdirSync(root),
  ...['docs', 'apps', 'packages', 'infra', 'test', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  ),
].filter((path) => path.endsWith('.md') && !path.includes('node_modules'))

test.each(documents)('%s names only files, npm scripts and headings that exist', (document) => {
  const text = readFileSync(join(root, document), 'utf8')
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const [, path = ''] of text.matchAll(/`((?:apps|packages|test|infra|docs|scripts)\/[\w./-]+)`/g)) {
    const found = [path, `${path}.ts`, `${path}.test.ts`].some((each) => existsSync(join(root, each)))
    expect(found, path).toBe(true)
  }
  for (const [, script = ''] of text.matchAll(/`npm run (?:-s )?([\w:-]+)/g))
    expect(Object.keys(scripts)).toContain(script)
  for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^https?:/.test(link)) continue
    const [path = '', heading] = link.split('#')
    const target = path === '' ? join(root, document) : join(root, dirname(document), path)
    expect(existsSync(target), link).toBe(true)
    if (heading !== undefined) expect(anchorsOf(readFileSync(target, 'utf8')), link).toContain(heading)
  }
})

test('CONTRIBUTING.md and docs/testing.md name each npm script', () => {
  const text = ['CONTRIBUTING.md', 'docs/testing.md'].map((path) => readFileSync(join(root, path), 'utf8')).join('')
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const named = new Set([...text.matchAll(/`(?:npm (?:run )?)?([\w:]+)/g)].map(([, script]) => script))
  for (const [, script] of text.matchAll(/^npm run ([\w:]+)/gm)) named.add(script)
  expect(Object.keys(scripts).filter((script) => !named.has(script))).toEqual([])
})

test.each(documents)('%s fits into 120 columns', (document) => {
  const lines = readFileSync(join(root, document), 'utf8').split('\n')
  expect(lines.filter((line) => [...line].length > 120)).toEqual([])
})

/** Returns the lines of the shell commands in a document. */
function commandsIn(document: string): string[] {
  const blocks = readFileSync(join(root, document), 'utf8').matchAll(/^```(?:sh|bash|console)\n(.*?)^```/gms)
  return [...blocks].flatMap(([, block = '']) => block.split('\n'))
}

test('no command in a document has a comment: zsh, the shell of Macs, takes its words for arguments and file names', () => {
  const commented = documents.flatMap((document) => {
    const lines = commandsIn(document).map((line) => line.replaceAll(/'[^']*'|"[^"]*"/g, '""'))
    return lines.filter((line) => /(?:^|\s)#(?:\s|$)/.test(line)).map((line) => `${document}: ${line}`)
  })
  expect(commented).toEqual([])
})

test('the settings of operations.md are the same to a shell, to systemd and to --env-file', () => {
  const settings = commandsIn('docs/operations.md').filter((line) => /^[A-Z_]+=\S*(?:\s*#.*)?$|^MAIL_FROM=/.test(line))
  expect(settings.length).toBeGreaterThan(10)
  for (const line of settings) expect(line).toMatch(/^[A-Z0-9_]+=[^\s'"#$`\\<>|&;()*?[\]{}~]*$/)
})

/** Returns a document without blocks of code and without line breaks. */
function proseOf(document: string): string {
  const text = readFileSync(join(root, document), 'utf8')
  return text.replaceAll(/^ *```.*?^ *```$/gms, '').replaceAll(/\s+/g, ' ')
}

test('a default that a sentence names is the default of the setting', () => {
  const named = documents.flatMap((document) =>
    [...proseOf(document).matchAll(/`([A-Z][A-Z0-9_]+)` \((\d+)(?: (s|MB))?[,)]/g)].map(
      ([, name = '', value = '', unit = '']) => `${name} ${value}${unit}`,
    ),
  )
  expect(named.length).toBeGreaterThan(3)
  const defaults = Object.entries(settings).map(([name, each]) => `${name} ${'default' in each ? each.default : ''}`)
  expect(named.filter((each) => !defaults.includes(each))).toEqual([])
  // Sentences that do not name the setting.
  const { MEMBER_LIMIT: members, RATE_LIMIT_SIGN_IN: one, RATE_LIMIT_SIGN_IN_ADDRESS: address } = settings
  expect(proseOf('docs/security.md')).toContain(`An app has at most ${members.default} members`)
  expect(proseOf('docs/operations.md')).toContain('30 requests for links lock everybody out for 15 minutes')
  expect(settings.RATE_LIMIT_SIGN_IN_CLIENT.default).toBe('30/15m')
  expect(proseOf('docs/security.md')).toContain("Ten clients together can use up one address's links for 15 minutes")
  expect([one.default, address.default]).toEqual(['5/15m', '50/15m'])
})

test('security.md names a test for each threat, and performance.md only benchmarks that exist', () => {
  const [, threats = ''] = /## Profiles and users (.*) ## Dependencies/.exec(proseOf('docs/security.md')) ?? []
  const paragraphs = threats.split(/ (?=- \*\*)/).slice(1)
  expect(paragraphs.length).toBeGreaterThan(40)
  expect(paragraphs.filter((paragraph) => !/`[\w./-]+\.test\.ts`/.test(paragraph))).toEqual([])
  const benches = readFileSync(join(root, 'test/src/labs/bench/main.ts'), 'utf8').matchAll(
    /^ {2}'?([a-z-]+)'?: bench/gm,
  )
  const known = [...benches].map(([, name]) => name)
  const performance = readFileSync(join(root, 'docs/performance.md'), 'utf8')
  const named = [...performance.matchAll(/npm run bench -- ([a-z-]+)|^\| `([a-z]+)` \|/gm)].map(
    ([, one, other]) => one ?? other,
  )
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !known.includes(name))).toEqual([])
})

test('the log lines of faults.md and of the runbook, and the metrics of operations.md, are in the code', () => {
  const code = [
    ...readdirSync(join(root, 'apps'), { recursive: true, encoding: 'utf8' }).map((path) => join('apps', path)),
  ]
    .concat(
      readdirSync(join(root, 'packages'), { recursive: true, encoding: 'utf8' }).map((path) => join('packages', path)),
    )
    .filter((path) => /\/src\/.*(?<!\.test)\.ts$/.test(path) && !path.includes('node_modules'))
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n')
  const operations = proseOf('docs/operations.md')
  const [, runbook = ''] = /## Runbook (.*?) ## /.exec(operations) ?? []
  const metrics = [...operations.matchAll(/`(sluice_\w+_\w+)[`{]/g)].map(([, name = '']) => name)
  const lines = [...`${proseOf('docs/faults.md')} ${runbook}`.matchAll(/`((?!npm |sluice )[A-Za-z]+(?: [A-Za-z]+)+)`/g)]
  expect([metrics.length > 20, lines.length > 8]).toEqual([true, true])
  expect([...metrics, ...lines.map(([, line = '']) => line)].filter((each) => !code.includes(each))).toEqual([])
})

test('the table of test/README.md has each folder of test/src', () => {
  const rows = readFileSync(join(root, 'test/README.md'), 'utf8').matchAll(/^\|.*\| `test\/src\/([\w-]+)` \|/gm)
  const folders = readdirSync(join(root, 'test/src')).filter((folder) => folder !== 'environment')
  expect([...rows].map(([, folder]) => folder).sort()).toEqual(folders.sort())
})

test('each entry of decisions.md has a number of its own, a date, and at most 60 words', () => {
  const text = readFileSync(join(root, 'docs/decisions.md'), 'utf8')
  const entries = text.split(/^(?=\d+\. )/m).slice(1)
  const numbers = entries.map((entry) => Number(/^\d+/.exec(entry)))
  expect(numbers).toEqual(numbers.map((_, index) => index + 1))
  expect(entries.filter((entry) => !/^\d+\. \d{4}-\d\d-\d\d \S/.test(entry))).toEqual([])
  // A heading may follow an entry.
  const words = entries.map((entry) => entry.replace(/^#.*$/gm, '').trim().split(/\s+/).length - 1)
  expect(numbers.filter((_, index) => (words[index] ?? 0) > 60)).toEqual([])
})

test('comments name only tests that exist', () => {
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => /^(?:apps|packages|test|scripts)\/.*\.ts$/.test(path) && !path.includes('node_modules'),
  )
  const names = new Set(sources.map((path) => basename(path)))
  const missing = sources.flatMap((path) => {
    const comments = readFileSync(join(root, path), 'utf8').match(/^\s*(?:\/\/|\/?\*).*$/gm) ?? []
    const named = [...comments.join('\n').matchAll(/[\w./-]+\.test\.ts\b/g)]
    return named.filter(([name]) => !names.has(basename(name))).map(([name]) => `${path}: ${name}`)
  })
  expect(missing).toEqual([])
})

test('the version is the same in every package, in the chart and at the top of the changelog', () => {
  const [, released] = /^## (\S+)/m.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) ?? []
  for (const folder of ['.', 'test', ...readModules().map(({ folder }) => folder)]) {
    const { version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    expect(version, folder).toBe(released)
  }
  const chart = readFileSync(join(root, 'infra/helm/sluice/Chart.yaml'), 'utf8')
  expect(chart).toContain(`\nversion: ${released}\nappVersion: ${released}\n`)
  expect(readFileSync(join(root, 'infra/helm/sluice/values.yaml'), 'utf8')).toContain(`\n  tag: ${released}\n`)
})

/** Returns the anchors that a Markdown renderer creates for a document's headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  )
}
