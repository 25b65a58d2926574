import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './modules.ts'

// An indicator of plain language: words that we replaced by standard terms, docstrings in another mood than the
// imperative, maxima that are named "most", and comments wider than the formatter's code.
const replaced: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bupkeep/i, 'maintenance'],
  [/dropbox/i, 'S3 gateway, bucket upload'],
  [/\bstray files?\b/i, 'unannounced file'],
  [/\bline_number\b|\bthe app's line\b|\bplace in (?:the|its) line\b/i, 'sequence number, import order'],
  [/\blook-ups?\b/i, 'lookup, look up'],
  [/\bhangs? on\b/i, 'depends on'],
  [/\b(?:falls?|fell|fallen) silent\b/i, 'times out, is stale, stops answering'],
  [/\bunder way\b|\bon (?:its|their) way\b/i, 'in flight'],
  [/\bhand(?:s|ed)? back\b|\blets? (?:it|them|its claim) go\b/i, 'releases'],
  [/\bthat one(?=[,.;:)]|$)|\bthose that\b/i, 'the noun again'],
  [/\b(?:Workshop|Yard)\b/, 'fixture'],
  [/\b(?:the|a) begin of\b|\bfrom begin\b/i, 'start of'],
]

const sources = filesOf('apps', 'packages', 'test', 'scripts').filter((path) => /\.(?:ts|mjs|css)$/.test(path))
const documents = [...readdirSync(root), ...filesOf('docs', 'packages', 'apps', 'infra')].filter((path) =>
  /\.md$/.test(path),
)

function filesOf(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/node_modules|screenshots/.test(entry.parentPath))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length)),
  )
}

/** Returns `path:line` of each line that a rule complains of, with the complaint. */
function complaints(paths: readonly string[], rule: (line: string) => string | undefined): string[] {
  return paths
    .filter((path) => path !== 'scripts/language.test.ts')
    .flatMap((path) =>
      readFileSync(join(root, path), 'utf8')
        .split('\n')
        .flatMap((line, index) => {
          const complaint = rule(line)
          return complaint === undefined ? [] : [`${path}:${index + 1}: ${complaint}`]
        }),
    )
}

const isComment = (line: string) => /^\s*(?:\/\*\*|\* |\/\/)/.test(line)

describe('language', () => {
  test('standard terms stand for the words that we replaced', () => {
    const rule = (line: string) => {
      const found = replaced.find(([pattern]) => pattern.test(line))
      return found && `write ${found[1]}: ${line.trim()}`
    }
    expect(complaints([...sources, ...documents], rule)).toEqual([])
  })

  test('docstrings are in the imperative', () => {
    const rule = (line: string) =>
      /^\s*(?:\/\*\*|\*) (?:Gives|Takes|Is told|Says)\b/.test(line) ? line.trim() : undefined
    expect(complaints(sources, rule)).toEqual([])
  })

  test('docstrings and descriptions name a maximum as such', () => {
    const rule = (line: string) =>
      /^\s*(?:\/\*\*|\*) (?:The most|Most)\b|['"`](?:The most|Most) [a-z]+ (?:of|in|that|for|at|a|an)\b/.test(line)
        ? `write "Maximum number of": ${line.trim()}`
        : undefined
    expect(complaints(sources, rule)).toEqual([])
  })

  test('comments are no wider than the code', () => {
    const rule = (line: string) => (isComment(line) && line.length > 120 ? `${line.length} characters` : undefined)
    expect(complaints(sources, rule)).toEqual([])
  })
})
