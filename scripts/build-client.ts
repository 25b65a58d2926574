import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import * as answers from '../packages/contract/src/answers.ts'
import { readModules, root } from './modules.ts'
import { runTool } from './run-tool.ts'

// Builds the package that users of the client install: JavaScript with types, without dependencies.
//   npm run build:client [-- <folder>], then npm pack ./dist/client

const modules = readModules()

/**
 * Builds the client package in a folder, which is emptied first: the client with its types, and the command
 * `sluice-client`. What they use of other workspace packages becomes part of the package. The types of answers are
 * written from their schemas, because those need zod.
 *
 * Returns the manifest of the package. Throws if the compiler finds errors, or if a part of the package is missing.
 */
export async function buildClient(folder: string): Promise<ReturnType<typeof manifest>> {
  rmSync(folder, { recursive: true, force: true })
  for (const project of ['client-cli', 'client']) {
    const code = await runTool('tsc', ['--project', `packages/${project}/tsconfig.build.json`, '--outDir', folder])
    if (code !== 0) throw new Error(`packages/${project} does not compile`)
  }
  writeFileSync(join(folder, 'contract/src/answers.d.ts'), answerTypes())
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:js|d\.ts)$/.test(file)) continue
    const path = join(folder, file)
    writeFileSync(path, withPublishedImports(path, folder))
  }
  const made = manifest()
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(made, null, 2)}\n`)
  cpSync(join(root, 'packages/client/README.md'), join(folder, 'README.md'))
  return made
}

/**
 * Returns the text of a file with its imports of workspace packages, and of TypeScript files, as published. Throws if
 * the package has no such file.
 */
function withPublishedImports(path: string, folder: string): string {
  return readFileSync(path, 'utf8').replaceAll(/(?<=from ['"])(?:@sluice\/|\.)[^'"]+(?=['"])/g, (target) => {
    const file = target.startsWith('.') ? resolve(dirname(path), target) : join(folder, publishedFile(target))
    const built = file.replace(/\.[jt]s$/, '')
    if (!existsSync(`${built}.js`) && !existsSync(`${built}.d.ts`))
      throw new Error(`${path} imports ${target}, which is no part of the package`)
    const published = relative(dirname(path), `${built}.js`)
    return published.startsWith('.') ? published : `./${published}`
  })
}

/** Returns the file that `@sluice/csv` or `@sluice/contract/limits` is, from the root of the published package. */
function publishedFile(target: string): string {
  const [scope, name, ...rest] = target.split('/')
  const module = modules.find((each) => each.name === `${scope}/${name}`)
  return join(relative('packages', module?.folder ?? ''), module?.exports[['.', ...rest].join('/')] ?? '')
}

/** Returns the declarations of all types of answers: the type `ImportView` of the schema `importView`. */
function answerTypes(): string {
  const schemas = Object.entries(answers).flatMap(([name, value]) =>
    value instanceof z.ZodType ? [[`${name.charAt(0).toUpperCase()}${name.slice(1)}`, value] as const] : [],
  )
  const nameOf = new Map(schemas.map(([name, schema]) => [schema.meta()?.id, name]))
  return schemas.map(([name, schema]) => `export type ${name} = ${typeOf(documented(schema), nameOf)};\n`).join('')
}

/** Returns the JSON Schema of a body itself, even if others refer to it. */
function documented(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  const json = z.toJSONSchema(schema)
  return json.$defs?.[schema.meta()?.id ?? ''] ?? json
}

/** Returns the TypeScript type of a JSON Schema. `nameOf` has the types of schemas that others refer to. */
function typeOf(schema: z.core.JSONSchema.BaseSchema, nameOf: ReadonlyMap<string | undefined, string>): string {
  const inner = (each: z.core.JSONSchema._JSONSchema | undefined) =>
    typeof each === 'object' ? typeOf(each, nameOf) : 'unknown'
  const { $ref, type, items, properties = {}, additionalProperties, required = [] } = schema
  if ($ref !== undefined) return nameOf.get($ref.split('/').at(-1)) ?? 'unknown'
  const values = schema.enum ?? ('const' in schema ? [schema.const] : [])
  const choices = [...values.map((value) => JSON.stringify(value)), ...(schema.anyOf ?? schema.oneOf ?? []).map(inner)]
  if (choices.length > 0) return choices.join(' | ')
  if (type === 'array') return `Array<${inner(Array.isArray(items) ? undefined : items)}>`
  if (type !== 'object') return [type ?? 'unknown'].flat().join(' | ').replace('integer', 'number')
  if (typeof additionalProperties === 'object') return `Record<string, ${inner(additionalProperties)}>`
  const members = Object.entries(properties).map(([name, each]) => {
    const isRequired = required.includes(name)
    const comment = typeof each === 'object' && each.description ? `/** ${each.description} */ ` : ''
    return `${comment}${JSON.stringify(name)}${isRequired ? '' : '?'}: ${inner(each)}${isRequired ? '' : ' | undefined'};`
  })
  return `{\n${members.join('\n')}\n}`
}

function manifest() {
  const source = JSON.parse(readFileSync(join(root, 'packages/client/package.json'), 'utf8'))
  const { license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { name, version, type } = source
  const index = './client/src/index'
  return {
    name,
    version,
    description: 'Client of the Sluice API: bulk import of user profiles, updates, exports and deletions',
    license,
    type,
    sideEffects: false,
    exports: { '.': { types: `${index}.d.ts`, default: `${index}.js` } },
    bin: { 'sluice-client': 'client-cli/src/main.js' },
    engines: { node: '>=22' },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await buildClient(resolve(process.argv[2] ?? join(root, 'dist/client')))
