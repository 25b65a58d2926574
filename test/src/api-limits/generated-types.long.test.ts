import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApiDocument } from '@sluice/api-app/src/openapi/document.ts'
import { beforeAll, expect, test } from 'vitest'
import { runProgram } from '../environment/program.ts'

// What a client's developer does: generate types from `/openapi.json`, and compile a program with them.
const root = join(import.meta.dirname, '../../..')
const generator = join(createRequire(import.meta.url).resolve('openapi-typescript/package.json'), '../bin/cli.js')

/** The recommended rules of the generator's linter, except two that do not suit the API. */
const rules = `extends: [recommended]
rules:
  info-license: off # Sluice is not published.
  operation-2xx-response: off # Links to files answer 302.
`

let folder: string
let complaints: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-generated-types-'))
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(openApiDocument('https://api.sluice.test')))
  await writeFile(join(folder, 'redocly.yaml'), rules)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  const { code, output } = await run(generator, 'openapi.json', '--output', 'api.ts', '--redocly', 'redocly.yaml')
  expect(code, output).toBe(0)
  complaints = output
  return () => rm(folder, { recursive: true })
})

const run = (...args: string[]) => runProgram(process.execPath, args, { cwd: folder })

/** Compiles a program beside the generated types. Returns the errors. */
async function errorsOf(program: string): Promise<string[]> {
  await writeFile(join(folder, 'program.ts'), program)
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--allowImportingTsExtensions']
  const { output } = await run(join(root, 'node_modules/typescript/bin/tsc'), ...options, 'program.ts')
  return output.split('\n').filter((line) => line !== '')
}

test('openapi-typescript accepts the document without a warning', async () => {
  expect(complaints).toMatch(/^✨ openapi-typescript [\d.]+\n🚀 [^\n]+\n$/)
  expect(await readFile(join(folder, 'api.ts'), 'utf8')).not.toMatch(/: any\b|@enum \{unknown\}/)
})

test('generated types of bodies are those of the contract', async () => {
  const names = {
    Import: 'ImportView',
    Changes: 'ImportChanges',
    ImportList: 'ImportList',
    UploadDescriptor: 'UploadDescriptor',
    Export: 'ExportView',
    ExportAnswer: 'ExportAnswer',
    ProfileKeys: 'ProfileKeysAnswer',
    User: 'UserDocument',
  }
  const both = Object.entries(names).map(
    ([schema, type]) => `export const to${schema} = (value: wire.${type}): schemas['${schema}'] => value
export const from${schema} = (value: schemas['${schema}']): wire.${type} => value`,
  )
  const program = `import type * as wire from '${root}/packages/contract/src/answers.ts'
import type { components } from './api.ts'
type schemas = components['schemas']
${both.join('\n')}`
  expect(await errorsOf(program)).toEqual([])
})

test('the types that the client package publishes are those of the contract', async () => {
  const built = await run(join(root, 'scripts/build-client.ts'), join(folder, 'client'))
  expect(built.code, built.output).toBe(0)
  const index = await readFile(join(root, 'packages/client/src/index.ts'), 'utf8')
  const [, list = ''] = /export type \{([^}]*)\} from '@sluice\/contract\/answers'/.exec(index) ?? []
  const names = list.match(/\w+/g) ?? []
  expect(names.length).toBeGreaterThan(10)
  const both = names.flatMap((name) => [
    `export const from${name} = (value: client.${name}): wire.${name} => value`,
    // The published answer also ties each value to its type.
    ...(name === 'ProfileUpdateAnswer'
      ? []
      : [`export const to${name} = (value: wire.${name}): client.${name} => value`]),
  ])
  const program = `import type * as wire from '${root}/packages/contract/src/answers.ts'
import type * as client from './client/client/src/index.js'
${both.join('\n')}`
  expect(await errorsOf(program)).toEqual([])
}, 120_000)

test('a program with a wrong member, type or path does not compile', async () => {
  const program = `import type { operations, paths } from './api.ts'
type Body = operations['requestBulkImport']['requestBody']['content']['application/json']
export const good: Body = { checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: 12, new_keys: 'refuse' }
export const wrongMember: Body = { checksum: '', byte_size: 12, name: 'people.csv' }
export const wrongType: Body = { checksum: '', byte_size: 12, profile_types: { zip: 'text' } }
export type WrongPath = paths['/v4/user_profiles']`
  const errors = await errorsOf(program)
  expect(errors.map((error) => error.slice(0, error.indexOf(','))).sort()).toEqual([
    'program.ts(4',
    'program.ts(5',
    'program.ts(6',
  ])
})
