import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { answerShapes, type Member, type Shape } from './contract-types.ts'
import { readModules, root } from './modules.ts'
import { runTool } from './run-tool.ts'

const usage = 'usage: npm run build:client [-- FOLDER]'
const help = `${usage}

Builds the package that users of the client install: JavaScript with types, without dependencies.
FOLDER is emptied first: it must be new, empty, or built by this command. Default: dist/client`

const modules = readModules()

/**
 * Builds the client package in a folder, which is emptied first: the client with its types, and the command
 * `sluice-client`. What they use of other workspace packages becomes part of the package. The types of answers are
 * written from their schemas, because those need zod.
 *
 * Returns the manifest of the package. Throws a TypeError if the folder has other files, and an Error if the compiler
 * finds errors, or if a part of the package is missing.
 */
export async function buildClient(folder: string): Promise<ReturnType<typeof manifest>> {
  const made = manifest()
  if (!mayBeEmptied(folder, made.name)) throw new TypeError(`${folder} has other files, which would be lost`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  // First, so that a build that failed can be repeated.
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(made, null, 2)}\n`)
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
  cpSync(join(root, 'packages/client/README.md'), join(folder, 'README.md'))
  return made
}

/** Whether a folder does not exist, is empty, or has the package of this name. */
function mayBeEmptied(folder: string, name: string): boolean {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return true
  const path = join(folder, 'package.json')
  return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).name === name
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
    bin: { 'sluice-client': 'client-cli/src/main.js' },
    engines: { node: '>=22' },
  }
}

/** Builds the package as the arguments say. Returns what to print. */
async function main(): Promise<string> {
  const options = { help: { type: 'boolean', short: 'h' } } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  if (values.help) return help
  const [given, surplus] = positionals
  if (surplus !== undefined) throw new TypeError(`there is one folder: ${surplus} is too much`)
  const folder = resolve(given ?? join(root, 'dist/client'))
  const { name, version } = await buildClient(folder)
  return `Wrote ${name} ${version} to ${folder}. In the project that uses it:\n  npm install $(npm pack '${folder}')`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await main())
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    console.error(`${error.message}\n${usage}`)
    process.exitCode = 2
  }
}
