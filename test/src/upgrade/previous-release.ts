import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../environment/program.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

export interface PreviousRelease extends AsyncDisposable {
  name: string
  root: string
}

/**
 * Extracts the preceding release into a temporary folder. The preceding release is the newest tag `v…` before this
 * commit. In a clone without tags, it is the commit that the file `previous-release` names. `HEAD` in that file means
 * that nothing was released yet: the last commit then stands for the preceding release.
 *
 * The release uses its own workspace packages, and the npm packages that are installed here. Throws if the commit is
 * not in the repository.
 */
export async function openPreviousRelease(): Promise<PreviousRelease> {
  const name = (await newestTag()) ?? (await readFile(new URL('previous-release', import.meta.url), 'utf8')).trim()
  if (name === 'HEAD') console.warn('Nothing was released yet: the last commit stands for the preceding release.')
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

/** Returns the newest tag of a release before this commit; undefined if there is none. */
async function newestTag(): Promise<string | undefined> {
  const [tags, here] = await Promise.all([
    git('tag', '--merged', 'HEAD', '--sort=-version:refname', '--list', 'v*'),
    git('tag', '--points-at', 'HEAD'),
  ])
  return tags.split('\n').find((tag) => tag !== '' && !here.split('\n').includes(tag))
}

/** Creates a `node_modules` for the release, which links its own workspace packages. */
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
