import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

// Tests the launcher in a small project with npm itself. All packages are tarballs, so that no registry is needed.
const scripts = dirname(fileURLToPath(import.meta.url))
const run = promisify(execFile)
let folder: string
let template: string
let project: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-launch-'))
  template = join(folder, 'template')
  await pack('dep', '1.0.0')
  await pack('dep', '2.0.0')
  await pack('tool', '1.0.0')
  await pack('native', '1.0.0', { os: [process.platform], cpu: [process.arch] })
  await pack('foreign', '1.0.0', { os: ['aix'] })
  await pack('scripted', '1.0.0', { scripts: { postinstall: `touch ${join(folder, 'script-ran')}` } })
  for (const script of ['launch.mjs', 'installed.mjs']) {
    await cp(join(scripts, script), join(template, 'scripts', script))
  }
  await cp(join(scripts, '..', '.npmrc'), join(template, '.npmrc'))
  await write('template/start.mjs', "import dep from 'dep'\nconsole.log('dep', dep)\n")
  await write('template/package.json', {
    name: 'project',
    private: true,
    workspaces: ['packages/*'],
    dependencies: { dep: tarball('dep', '1.0.0') },
    devDependencies: { tool: tarball('tool', '1.0.0') },
    optionalDependencies: { native: tarball('native', '1.0.0'), foreign: tarball('foreign', '1.0.0') },
  })
  await write('template/packages/one/package.json', { name: 'one', version: '1.0.0' })
  await npm(template, 'install', '--package-lock-only')
  await npm(template, 'ci')
})
afterAll(() => rm(folder, { recursive: true }))

let count = 0
beforeEach(async () => {
  project = join(folder, `project-${++count}`)
  await cp(template, project, { recursive: true, verbatimSymlinks: true })
})

async function write(path: string, content: string | object): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content))
}

const tarball = (name: string, version: string) => `file:${folder}/tarballs/${name}-${version}.tgz`

async function pack(name: string, version: string, more: object = {}): Promise<void> {
  const path = `packages-of-others/${name}-${version}`
  await write(`${path}/package.json`, { name, version, type: 'module', exports: './index.js', ...more })
  await write(`${path}/index.js`, `export default '${version}'\n`)
  await mkdir(join(folder, 'tarballs'), { recursive: true })
  await npm(folder, 'pack', join(folder, path), '--pack-destination', join(folder, 'tarballs'))
}

/** Returns the environment without the variables that npm sets for scripts, which would refer to this project. */
function environment(more: Record<string, string> = {}): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_ENV$|^NODE_OPTIONS$/i.test(name))
  return { ...Object.fromEntries(kept), ...more }
}

async function npm(cwd: string, ...args: string[]): Promise<void> {
  await run('npm', [...args, '--offline', '--loglevel=error'], { cwd, env: environment() })
}

/** Starts the project. Returns its output, and whether the dependencies were installed first. */
async function start(env: Record<string, string> = {}): Promise<{ output: string; installed: boolean; log: string }> {
  const args = ['scripts/launch.mjs', 'start.mjs']
  const { stdout, stderr } = await run(process.execPath, args, { cwd: project, env: environment(env) })
  return { output: stdout.trim(), installed: stderr.includes('Installing dependencies'), log: stderr }
}

/** Changes the project's package.json and lockfile, as a colleague's commit does, without installing anything. */
async function change(...args: string[]): Promise<void> {
  await npm(project, 'install', '--package-lock-only', ...args)
}

describe('the launcher does not install', () => {
  test('after a plain npm ci, which leaves packages for other platforms out', async () => {
    expect(await start()).toMatchObject({ output: 'dep 1.0.0', installed: false })
  })

  test('after npm install', async () => {
    await npm(project, 'install', tarball('dep', '2.0.0'))
    expect(await start()).toMatchObject({ output: 'dep 2.0.0', installed: false })
  })

  test('if somebody tries out a package that the lockfile does not name', async () => {
    await npm(project, 'uninstall', 'tool')
    await npm(project, 'install', '--no-save', tarball('tool', '1.0.0'))
    expect(await start()).toMatchObject({ installed: false })
  })
})

describe('the launcher installs once', () => {
  test.each<[string, () => Promise<void>]>([
    ['if nothing is installed', () => remove('node_modules')],
    ['after an npm ci that was interrupted', () => remove('node_modules/.package-lock.json')],
    ['if the list of installed packages is truncated', () => truncate('node_modules/.package-lock.json')],
    ['if a package is gone', () => remove('node_modules/dep')],
    ['if a package for this platform is gone', () => remove('node_modules/native')],
    ['if npm was told to leave optional packages out', () => npm(project, 'ci', '--omit=optional')],
    ['if npm was told to leave development packages out', () => npm(project, 'ci', '--omit=dev')],
    ['if a dependency has another version', () => change(tarball('dep', '2.0.0'))],
    ['if a dependency is new', () => changeAfterUninstall('tool')],
    ['if a nested version is no longer needed', () => leaveNestedVersion()],
    ['if a workspace is new', () => addWorkspace()],
  ])('%s', async (_, happens) => {
    await happens()
    expect(await start()).toMatchObject({ installed: true })
    expect(await start()).toMatchObject({ installed: false })
  })

  test('all packages, even in a production environment', async () => {
    await remove('node_modules')
    expect(await start({ NODE_ENV: 'production' })).toMatchObject({ installed: true })
    expect(await start({ NODE_ENV: 'production' })).toMatchObject({ installed: false })
  })
})

describe('an install script', () => {
  const ran = () => existsSync(join(folder, 'script-ran'))
  beforeEach(() => rm(join(folder, 'script-ran'), { force: true }))

  test('of a package without permission does not run: the installation fails and names the package', async () => {
    await npm(project, 'install', '--package-lock-only', '--ignore-scripts', tarball('scripted', '1.0.0'))
    await expect(npm(project, 'ci')).rejects.toThrow('scripted@1.0.0 (')
    await remove('node_modules')
    await expect(start()).rejects.toThrow('scripted@1.0.0 (')
    expect(ran()).toBe(false)
  })

  test('runs if package.json allows it', async () => {
    await npm(project, 'install', '--package-lock-only', '--ignore-scripts', tarball('scripted', '1.0.0'))
    const manifest = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'))
    const allowed = { ...manifest, allowScripts: { [tarball('scripted', '1.0.0')]: true } }
    await writeFile(join(project, 'package.json'), JSON.stringify(allowed))
    await npm(project, 'ci')
    expect(ran()).toBe(true)
  })
})

test('an installation says nothing of packages that need a newer Node than npm runs on', async () => {
  await pack('modern', '1.0.0', { engines: { node: '>=99' } })
  await change(tarball('modern', '1.0.0'))
  expect((await start()).log).not.toContain('npm warn')
})

async function remove(path: string): Promise<void> {
  await rm(join(project, path), { recursive: true })
}

async function truncate(path: string): Promise<void> {
  const text = await readFile(join(project, path), 'utf8')
  await writeFile(join(project, path), text.slice(0, text.length / 2))
}

async function changeAfterUninstall(name: string): Promise<void> {
  await npm(project, 'uninstall', name)
  await change('--save-dev', tarball(name, '1.0.0'))
}

/** Installs a second version of `dep` for a workspace alone, and then reverts the lockfile and the manifest. */
async function leaveNestedVersion(): Promise<void> {
  const before = await readFile(join(project, 'package-lock.json'), 'utf8')
  await npm(project, 'install', '--workspace=one', tarball('dep', '2.0.0'))
  const nested = join(project, 'packages', 'one', 'node_modules', 'dep', 'package.json')
  expect(JSON.parse(await readFile(nested, 'utf8'))).toMatchObject({ version: '2.0.0' })
  await writeFile(join(project, 'packages', 'one', 'package.json'), JSON.stringify({ name: 'one', version: '1.0.0' }))
  await writeFile(join(project, 'package-lock.json'), before)
}

async function addWorkspace(): Promise<void> {
  await mkdir(join(project, 'packages', 'two'), { recursive: true })
  await writeFile(join(project, 'packages', 'two', 'package.json'), JSON.stringify({ name: 'two', version: '1.0.0' }))
  await change()
}
