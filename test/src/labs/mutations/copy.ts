import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { openScratch } from '../../environment/scratch.ts'

const run = promisify(execFile)

/** The repository from which copies are made. */
export const root = join(import.meta.dirname, '../../../..')

/**
 * Copies the files that git tracks, as they are in the working tree. Installed packages are linked. The packages of the
 * repository are those of the copy, so that a test in the copy runs its changed code.
 */
export async function copyRepository(): ReturnType<typeof openScratch> {
  const copy = await openScratch('sluice-mutation-')
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    maxBuffer: 2 ** 26,
  })
  for (const path of stdout.split('\0').filter(Boolean)) {
    await cp(join(root, path), join(copy.path, path), { force: true }).catch(ignoreDeleted)
  }
  for (const place of ['.', 'test']) await linkPackages(join(root, place), join(copy.path, place))
  return copy
}

/** A file that was deleted since its last commit is still tracked. */
function ignoreDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

async function linkPackages(from: string, to: string): Promise<void> {
  const names = await readdir(join(from, 'node_modules')).catch(() => [])
  for (const name of names) {
    const [source, target] = [join(from, 'node_modules', name), join(to, 'node_modules', name)]
    await mkdir(dirname(target), { recursive: true })
    // Results and compiled code of the copy stay in the copy.
    if (name === '.cache') continue
    if (name !== '@sluice') await symlink(source, target)
    else await linkOwnPackages(source, target)
  }
}

async function linkOwnPackages(source: string, target: string): Promise<void> {
  await mkdir(target)
  // The links are relative, so they lead into the copy.
  for (const name of await readdir(source)) await symlink(await readlink(join(source, name)), join(target, name))
}
