import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../environment/program.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

/** The sources of the release before this one, ready to run. */
export interface PreviousRelease extends AsyncDisposable {
  /** The tag, or the commit. */
  name: string
  root: string
}

/**
 * Lays out the previous release in a folder of its own: the newest tag `v…` before this commit; where there is none, as in
 * a clone without tags, the commit that the file `previous-release` names. `HEAD` there says that nothing was released yet:
 * then it is this commit without what is not committed. Throws where that commit is not in the repository.
 *
 * Its packages are its own; what it takes from npm is what is installed here.
 */
export async function openPreviousRelease(): Promise<PreviousRelease> {
  const name = (await newestTag()) ?? (await readFile(new URL('previous-release', import.meta.url), 'utf8')).trim()
  if (name === 'HEAD') console.warn('Nothing was released yet: the last commit stands for the previous release.')
  const root = await mkdtemp(join(tmpdir(), 'sluice-previous-'))
  try {
    const archive = join(root, 'release.tar')
    await git('archive', '--format=tar', `--output=${archive}`, name)
    await run('tar', ['-xf', archive, '-C', root])
    await linkPackages(root)
  } catch (error) {
    await rm(root, { recursive: true, force: true })
    throw error
  }
  return { name, root, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) }
}

/** The newest tag of a release before this commit; undefined where there is none. */
async function newestTag(): Promise<string | undefined> {
  const [tags, here] = await Promise.all([
    git('tag', '--merged', 'HEAD', '--sort=-version:refname', '--list', 'v*'),
    git('tag', '--points-at', 'HEAD'),
  ])
  return tags.split('\n').find((tag) => tag !== '' && !here.split('\n').includes(tag))
}

/** Gives the release a `node_modules` in which our own packages are its own. */
async function linkPackages(root: string): Promise<void> {
  const [here, there] = [join(repository, 'node_modules'), join(root, 'node_modules')]
  await mkdir(join(there, '@sluice'), { recursive: true })
  for (const name of await readdir(here)) {
    if (name !== '@sluice') await symlink(join(here, name), join(there, name))
  }
  for (const name of await readdir(join(root, 'packages'))) {
    await symlink(join(root, 'packages', name), join(there, '@sluice', name))
  }
}

async function git(...args: string[]): Promise<string> {
  return await run('git', ['-C', repository, ...args])
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { code, output } = await runProgram(program, args)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${output}`)
  return output
}
