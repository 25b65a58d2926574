import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApiDocument } from '@sluice/api-app/src/openapi/document.ts'
import type { ApiDocument, JsonSchema } from '@sluice/api-app/src/openapi/document-types.ts'
import { importStates } from '@sluice/contract'
import { describe, expect, test } from 'vitest'
import { documentCheck, operationsOf } from '../api-limits/document-check.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { hasProgram, runProgram } from '../environment/program.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { openSession, root, shellBlocks, withAddresses } from './documented-session.ts'

const text = await readFile(join(root, 'docs/api.md'), 'utf8')
const document: ApiDocument = JSON.parse(JSON.stringify(openApiDocument('http://api.test')))
const hasPrograms = (await hasProgram('bash')) && (await hasProgram('curl')) && (await hasProgram('openssl'))

/** Returns the document's code blocks in a language, each with the word that follows the language's name. */
function blocksOf(language: string): { word: string; block: string }[] {
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language} ?(\\w*)\\n(.*?)^\`\`\`$`, 'gms'))
  return [...blocks].map(([, word = '', block = '']) => ({ word, block }))
}

/** Returns the texts in the first column of the table with this header. */
function firstColumn(header: string): string[] {
  const [, rows = ''] = new RegExp(`^\\| ${header} \\|.*\\n\\|[-|]+\\|\\n((?:\\|.*\\n)+)`, 'm').exec(text) ?? []
  return rows.split('\n').flatMap((row) => row.split('|')[1]?.trim() ?? [])
}

const stack = openBeforeAll(openSharedStack)

test.skipIf(!hasPrograms)(
  'the session in docs/api.md works as written, and prints the error file as shown',
  async () => {
    const session = await openSession(stack)
    const script = withAddresses(['set -eu', ...shellBlocks(text)].join('\n'), await stack.info())
    const { code, output } = await runProgram('bash', ['-c', script], { cwd: session.folder, env: session.env })
    expect(code, output).toBe(0)
    const answers = await session.httpAnswers()
    expect(answers.length).toBeGreaterThan(shellBlocks(text).length)
    expect(answers.filter((answer) => !/^2\d\d /.test(answer))).toEqual([])
    for (const { block } of blocksOf('csv')) expect(output).toContain(block)
  },
)

describe('docs/api.md agrees with the API document', () => {
  const check = documentCheck(document)
  const { schemas }: { schemas: Record<string, JsonSchema> } = document.components

  test('each JSON example names its schema and matches it', () => {
    const examples = blocksOf('json')
    expect(examples.length).toBeGreaterThan(10)
    for (const { word, block } of examples) {
      check.matches({ $ref: `#/components/schemas/${word}` }, JSON.parse(block), word)
    }
  })

  test('its tables list all members of the first request, states, statuses and codes', () => {
    const members = firstColumn('member').map((cell) => cell.replace(/^`(\w+)`.*/, '$1'))
    expect(members.sort()).toEqual(Object.keys(schemas.ImportRequest?.properties ?? {}).sort())
    const states = firstColumn('state').map((cell) => cell.replaceAll('`', ''))
    expect(states.sort()).toEqual([...importStates].sort())
    expect(firstColumn('code').map(Number)).toEqual([1001, 1002, 1003, 2001])
    const statuses = operationsOf(document).flatMap(({ responses }) =>
      Object.keys(responses).filter((status) => status >= '4'),
    )
    expect(
      firstColumn('status')
        .flatMap((cell) => cell.split(', '))
        .sort(),
    ).toEqual([...new Set(statuses)].sort())
  })
})
