import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Whether the packages in a project's node_modules match its lockfile, whoever installed them. `root` is the project's
 * folder. Packages that the lockfile does not name are allowed, unless they hide another version.
 *
 * Every command begins with this check, so a result of true is kept for as long as no file that it depends on changes.
 */
export function isInstalled(root) {
  const kept = join(root, 'node_modules', '.cache', 'installed.json')
  if (isUnchanged(root, readJson(kept))) return true
  const locked = readJson(join(root, 'package-lock.json'))?.packages
  // npm writes this list at the end of an installation, and `npm ci` removes it at the beginning.
  const listed = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages
  if (locked === undefined || listed === undefined || !matches(root, locked, listed)) return false
  keep(kept, root, ['package-lock.json', 'node_modules/.package-lock.json', ...manifests(locked)])
  return true
}

function matches(root, locked, listed) {
  const direct = directOptional(locked)
  return (
    Object.entries(locked).every(
      ([path, wanted]) => isThere(root, path, wanted) || mayBeMissing(path, wanted, direct),
    ) && !Object.keys(listed).some((path) => isNested(path) && !(path in locked) && existsSync(join(root, path)))
  )
}

function manifests(locked) {
  return Object.keys(locked).map((path) => join(path, 'package.json'))
}

/** Whether every file is as it was when it was kept. A file that did not exist must still not exist. */
function isUnchanged(root, files) {
  return files !== undefined && Object.entries(files).every(([path, state]) => stateOf(join(root, path)) === state)
}

function keep(kept, root, paths) {
  try {
    mkdirSync(dirname(kept), { recursive: true })
    writeFileSync(kept, JSON.stringify(Object.fromEntries(paths.map((path) => [path, stateOf(join(root, path))]))))
  } catch {
    // Whoever may not write here pays for the whole check each time.
  }
}

/** Returns what changes when a file is replaced: inode, size and time of its last change. */
function stateOf(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? 'missing' : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Checks the package itself: `npm install --package-lock-only` lists packages that it does not install. */
function isThere(root, path, { link, resolved, version }) {
  if (link) return isSameFolder(join(root, path), join(root, resolved))
  if (!path.includes('node_modules/')) return true // a workspace, or the project itself
  return readJson(join(root, path, 'package.json'))?.version === version
}

function isSameFolder(one, other) {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

/**
 * Whether npm may have left a package out. npm omits optional packages not only because of their platform, but also if
 * no other package needs them or if the machine's Node is too old. Packages that the project itself names for this
 * platform must be installed.
 */
function mayBeMissing(path, { optional, os, cpu }, direct) {
  if (!optional) return false
  return !direct.has(path) || !allows(os, process.platform) || !allows(cpu, process.arch)
}

/** Returns the folders of optional packages that the project or one of its workspaces names. */
function directOptional(locked) {
  const own = Object.entries(locked).filter(([path]) => !path.includes('node_modules/'))
  const names = own.flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
  return new Set(names.map((name) => `node_modules/${name}`))
}

/**
 * Whether a list such as `linux`, `["darwin", "linux"]` or `["!win32"]` allows a platform. A missing list allows all.
 */
function allows(list, platform) {
  const names = list === undefined ? [] : [list].flat()
  if (names.includes(`!${platform}`)) return false
  const wanted = names.filter((name) => !name.startsWith('!'))
  return wanted.length === 0 || wanted.includes(platform)
}

/** Whether a package is installed in the folder of another package, which uses it instead of a version further up. */
function isNested(path) {
  return path.lastIndexOf('node_modules/') > 0
}
