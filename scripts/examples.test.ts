import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readModules, root } from './modules.ts'

// Runs the `@example` blocks of the packages' docstrings. A block is a fence of code without type annotations. A line
// `expression // → value` is checked: the value is the JSON of the awaited expression, or `undefined`. An example can
// use the exports of its file and of its package, and these names of libraries:
const libraryNames = { Readable, gzipSync, z }

/** Packages in which every exported function and class has an example. */
const withAllExamples = ['packages/engine/csv', 'packages/contract', 'packages/process/joined-calls']

interface Example {
  /** File and line of the docstring. */
  place: string
  file: string
  code: string
  /** The declaration that follows the docstring. */
  declaration: string
}

/** Returns the examples in the docstrings of a file. */
function examplesOf(file: string): Example[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/\/\*\*(?<doc>(?:(?!\*\/).)*@example.*?)\*\/\n(?<declaration>[^\n]*)/gs)].flatMap(
    ({ index, groups: { doc = '', declaration = '' } = {} }) => {
      const plain = doc.replace(/^ *\* ?/gm, '')
      return [...plain.matchAll(/@example\n```ts\n(?<code>.*?)\n```/gs)].map(({ groups: { code = '' } = {} }) => ({
        place: `${file}:${text.slice(0, index).split('\n').length}`,
        file,
        code,
        declaration,
      }))
    },
  )
}

/** Runs an example. Returns each checked value with its expected JSON. */
async function run({ file, code }: Example): Promise<{ line: string; value: unknown; expected: string }[]> {
  const index = join(root, file.slice(0, file.indexOf('/src/')), 'src/index.ts')
  const scope = {
    ...libraryNames,
    ...(existsSync(index) && (await import(pathToFileURL(index).href))),
    ...(await import(pathToFileURL(join(root, file)).href)),
  }
  const checked: { line: string; value: unknown; expected: string }[] = []
  const body = code.replace(/^(?<expression>.*?) *\/\/ → (?<json>.*)$/gm, (line, expression, json) => {
    return `check(${JSON.stringify(line)}, await (${expression}), ${JSON.stringify(json)})`
  })
  const AsyncFunction = Object.getPrototypeOf(run).constructor
  const check = (line: string, value: unknown, expected: string) => void checked.push({ line, value, expected })
  await new AsyncFunction('check', ...Object.keys(scope), body)(check, ...Object.values(scope))
  return checked
}

const files = readModules()
  .filter(({ folder }) => folder.startsWith('packages/'))
  .flatMap(({ folder }) =>
    readdirSync(join(root, folder, 'src'), { recursive: true, encoding: 'utf8' }).map(
      (path) => `${folder}/src/${path}`,
    ),
  )
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
const examples = files.flatMap(examplesOf)

describe('the examples in docstrings are true', () => {
  test.each(examples.map((example) => [example.place, example] as const))('%s', async (_, example) => {
    const checked = await run(example)
    expect(checked).not.toEqual([])
    for (const { line, value, expected } of checked) {
      if (expected === 'undefined') expect(value, line).toBeUndefined()
      else expect(JSON.parse(JSON.stringify(value)), line).toEqual(JSON.parse(expected))
    }
  })

  test('every block with @example is run', () => {
    const count = (text: string) => text.match(/^ *\* @example$/gm)?.length ?? 0
    const written = files.reduce((sum, file) => sum + count(readFileSync(join(root, file), 'utf8')), 0)
    expect(examples).toHaveLength(written)
  })
})

test.each(withAllExamples)('every function and class that %s exports has an example', async (folder) => {
  const exported = await import(pathToFileURL(join(root, folder, 'src/index.ts')).href)
  const functions = Object.keys(exported).filter((key) => typeof exported[key] === 'function')
  const declared = examples.filter(({ file }) => file.startsWith(`${folder}/`)).map(({ declaration }) => declaration)
  const missing = functions.filter(
    (key) => !declared.some((line) => new RegExp(`\\b(function\\*?|class) ${key}\\b`).test(line)),
  )
  expect(missing).toEqual([])
})
