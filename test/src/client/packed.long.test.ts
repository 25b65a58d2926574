import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeEnvironment, runProgram } from '../environment/program.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { openApp } from '../stack/client.ts'
import type { StackAccess } from '../stack/running-stack.ts'

// The package as users install it: built, packed by npm, and installed in a project outside of this repository.
let stack: StackAccess
let folder: string
const root = join(import.meta.dirname, '../../..')
const env = { PATH: nodeEnvironment.PATH ?? '', HOME: tmpdir(), npm_config_update_notifier: 'false' }

/** Runs a program in a folder, and returns its output. Throws if it fails. */
async function run(cwd: string, name: string, ...args: string[]): Promise<string> {
  const { code, output } = await runProgram(name, args, { cwd, env })
  expect(code, output).toBe(0)
  return output
}

beforeAll(async () => {
  stack = await openSharedStack()
  folder = await mkdtemp(join(tmpdir(), 'sluice-client-project-'))
  const built = join(folder, 'built')
  const [install] = /npm install .*/.exec(await run(root, process.execPath, 'scripts/build-client.ts', built)) ?? ['']
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }))
  await run(folder, 'sh', '-c', `${install} --offline --no-audit --no-fund`)
  await rm(built, { recursive: true })
}, 120_000)

afterAll(async () => {
  await stack.close()
  await rm(folder, { recursive: true, force: true })
})

test('the build explains itself, makes no folder of what looks like an option, and empties none with other files', async () => {
  const build = (...args: string[]) =>
    runProgram(process.execPath, [join(root, 'scripts/build-client.ts'), ...args], { cwd: folder, env })
  const before = await readdir(folder)
  expect(await build('--help')).toMatchObject({ code: 0, output: expect.stringContaining('FOLDER is emptied first') })
  for (const wrong of [['--out', 'x'], ['x', 'y'], ['.']])
    expect(await build(...wrong)).toMatchObject({ code: 2, output: expect.stringContaining('usage: npm run build') })
  expect(await readdir(folder)).toEqual(before)
})

test('the installed package has no dependencies, and names no package of the workspace', async () => {
  expect(await readdir(join(folder, 'node_modules/@sluice'))).toEqual(['client'])
  const client = join(folder, 'node_modules/@sluice/client')
  expect(JSON.parse(await readFile(join(client, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies')
  const files = (await readdir(client, { recursive: true })).filter((path) => /\.(?:js|d\.ts)$/.test(path))
  expect(files.length).toBeGreaterThan(20)
  for (const file of files) {
    const imports = [...(await readFile(join(client, file), 'utf8')).matchAll(/(?:from|import\() ?['"]([^'"]+)/g)]
    // The command runs only on Node. The rest runs in browsers as well.
    const isOfCommand = /^(?:client-cli|engine)\//.test(file)
    for (const [, target = ''] of imports)
      if (!isOfCommand || !target.startsWith('node:')) expect(target, file).toMatch(/^\.{1,2}\/[\w./-]+\.js$/)
  }
})

test('a plain JavaScript project imports a file with the installed package', async () => {
  const { token } = await openApp(stack, ['alice'])
  const program = `
    import { openAsBlob } from 'node:fs'
    import { Sluice, UnregisteredUserError } from '@sluice/client'
    const sluice = new Sluice({ api: process.argv[2], token: process.argv[3] })
    const view = await sluice.import(await openAsBlob('people.csv'), { fileName: 'people.csv' })
    const refusal = await sluice.updateProfile('bob', [{ key: 'age', type: 'int', value: 1 }]).catch((error) => error)
    console.log(JSON.stringify({ view, isTyped: refusal instanceof UnregisteredUserError }))
  `
  await writeFile(join(folder, 'main.js'), program)
  await writeFile(join(folder, 'people.csv'), 'user_id,age\nalice,34\n')
  const output = JSON.parse(await run(folder, process.execPath, 'main.js', stack.api, token))
  expect(output.view).toMatchObject({ state: 'completed', rows_applied: 1, file_name: 'people.csv' })
  expect(output.isTyped).toBe(true)
})

test('the installed command imports a file, and its exit code tells failures and wrong usage apart', async () => {
  const { token } = await openApp(stack, ['alice'])
  await writeFile(join(folder, 'rows.csv'), 'user_id,age\nalice,34\nbob,35\n')
  const command = async (...args: string[]) => {
    const access = { ...env, SLUICE_API: stack.api, SLUICE_TOKEN: token }
    return await runProgram(join(folder, 'node_modules/.bin/sluice-client'), args, { cwd: folder, env: access })
  }
  const done = await command('import', 'rows.csv', '--wait', '--type', 'age=decimal', '--fail-on-errors')
  expect(done.output).toMatch(/^State +completed$.*^Rows applied +1$.*^Types +age: decimal$/ms)
  expect(done.output).toMatch(/^Errors:\nROWS +ERROR\n +1 .*^sluice-client: 1 rows have errors$/ms)
  expect(done.code).toBe(1)

  const dryRun = await command('import', 'rows.csv', '--wait', '--dry-run', '--json')
  expect(dryRun.code).toBe(0)
  // The lines of stderr follow the document.
  const view = JSON.parse(dryRun.output.slice(0, dryRun.output.lastIndexOf('}') + 1))
  expect(view).toMatchObject({ dry_run: true, state: 'completed', rows_failed: 1 })
  const importId = String(view.import_id)
  expect((await command('show', importId)).output).toMatch(/^Dry run +nothing is applied$/m)
  expect(await command('cancel', importId)).toMatchObject({ code: 1, output: expect.stringContaining('(409)') })

  for (const args of [['import'], ['imports', 'rows.csv'], ['import', 'rows.csv', '--dry'], ['import', 'a', 'b']])
    expect(await command(...args)).toMatchObject({ code: 2, output: expect.stringContaining('--help') })
})

test.each([
  ['Node', 'nodenext', 'nodenext'],
  ['a bundler', 'esnext', 'bundler'],
])('the types need no other package, in a strict project for %s', async (_, module, moduleResolution) => {
  const program = `
    import { type ImportView, Sluice } from '@sluice/client'
    const sluice = new Sluice({ api: 'https://api.example.com', token: 't' })
    export const view: Promise<ImportView> = sluice.import(new Blob(['user_id\\n']))
    export const rows: Promise<number> = view.then((each) => each.rows_total)
    // @ts-expect-error: a type that does not exist is refused
    void sluice.registerKeys({ zip: 'text' })
  `
  await writeFile(join(folder, 'main.ts'), program)
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    target: 'esnext',
    lib: ['esnext', 'dom'],
    types: [],
    module,
    moduleResolution,
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }))
  await run(folder, join(root, 'node_modules/.bin/tsc'), '--project', 'tsconfig.json')
})
