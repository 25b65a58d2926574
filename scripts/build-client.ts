import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answerShapes, type Member, type Shape } from './contract-types.ts'
import { root } from './modules.ts'
import { runTool } from './run-tool.ts'

// Builds the package that users of the client install: JavaScript with types, without dependencies.
//   npm run build:client [-- <folder>], then npm pack ./dist/client

/**
 * Builds the client package in a folder, which is emptied first. The types and limits of the contract become part of
 * the package: the types of answers are written from their schemas, because those need zod. Throws if the compiler
 * finds errors.
 */
async function buildClient(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const code = await runTool('tsc', ['--project', 'packages/client/tsconfig.build.json', '--outDir', folder])
  if (code !== 0) throw new Error('the client does not compile')
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:js|d\.ts)$/.test(file)) continue
    const path = join(folder, file)
    writeFileSync(path, withPublishedImports(readFileSync(path, 'utf8')))
  }
  writeFileSync(join(folder, 'contract/src/answers.d.ts'), answerTypes())
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
  cpSync(join(root, 'packages/client/README.md'), join(folder, 'README.md'))
}

/** Replaces imports of workspace packages, and of TypeScript files, by the files of the published package. */
function withPublishedImports(text: string): string {
  return text
    .replaceAll(/(from ['"])@sluice\/contract\/([\w-]+)(['"])/g, '$1../../contract/src/$2.js$3')
    .replaceAll(/(from ['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2')
}

/** Returns the declarations of all types of answers. */
function answerTypes(): string {
  return answerShapes()
    .map(([name, shape]) => `export type ${name} = ${typeOf(shape)};\n`)
    .join('')
}

/** Returns a type in TypeScript. */
function typeOf(shape: Shape): string {
  switch (shape.kind) {
    case 'scalar':
      return shape.name.replace('integer', 'number')
    case 'literal':
      return JSON.stringify(shape.value)
    case 'reference':
      return shape.name
    case 'union':
      return shape.choices.map(typeOf).join(' | ')
    case 'list':
      return `Array<${typeOf(shape.item)}>`
    case 'record':
      return `Record<string, ${typeOf(shape.item)}>`
    case 'object':
      return `{\n${shape.members.map(memberOf).join('\n')}\n}`
  }
}

function memberOf({ name, shape, isRequired, description }: Member): string {
  const comment = description ? `/** ${description} */ ` : ''
  return `${comment}${JSON.stringify(name)}${isRequired ? '' : '?'}: ${typeOf(shape)}${isRequired ? '' : ' | undefined'};`
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
    engines: { node: '>=22' },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await buildClient(resolve(process.argv[2] ?? join(root, 'dist/client')))
