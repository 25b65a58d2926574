import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../modules.ts'

/** What a release is made of. */
export interface Source {
  /** Such as `1.0.0`, of package.json. */
  version: string
  /** The full hash of the commit. */
  commit: string
  /** Whether the commit has the tag `v<version>`. */
  isTagged: boolean
}

/** Returns the source that is checked out in a folder. */
export function readSource(folder = root): Source {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const [commit = ''] = linesOf(folder, 'rev-parse', 'HEAD')
  return { version, commit, isTagged: tagsIn(folder).includes(`v${version}`) }
}

/** Returns why no release can be made of what is checked out in a folder; undefined if one can be made. */
export function refusalOf({ version, isTagged }: Source, folder = root): string | undefined {
  const changed = linesOf(folder, 'status', '--porcelain')
  if (changed.length > 0)
    return `The working tree has changes that no commit contains. Commit or remove them:\n${changed.join('\n')}`
  const others = tagsIn(folder).filter((tag) => /^v\d/.test(tag) && tag !== `v${version}`)
  if (others.length > 0) return `The commit has the tag ${others.join(', ')}, but package.json has version ${version}.`
  if (isTagged && /^## \S+ \(pending\)/m.test(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')))
    return `The commit has the tag v${version}, but CHANGELOG.md calls this version pending.`
  return undefined
}

function tagsIn(folder: string): string[] {
  return linesOf(folder, 'tag', '--points-at', 'HEAD')
}

function linesOf(folder: string, ...args: string[]): string[] {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).split('\n').filter(Boolean)
}

/**
 * Copies the files below `path` that git knows, or would add, to `folder`. Ignored files stay out, and permissions do
 * not depend on those of the working tree.
 */
export function copySource(path: string, folder: string): void {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', path]
  const files = execFileSync('git', list, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean)
  for (const file of files) {
    const found = statSync(join(root, file), { throwIfNoEntry: false })
    if (found === undefined) continue // removed, and the removal is not committed
    const target = join(folder, file)
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(join(root, file), target)
    chmodSync(target, (found.mode & 0o100) === 0 ? 0o644 : 0o755)
  }
}
