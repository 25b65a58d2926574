import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Whether the packages in a project's node_modules are those of its lockfile, whoever installed them. Takes the project's
 * folder. A package that the lockfile does not name may be there as well, unless it hides another version.
 */
export function isInstalled(root) {
  const locked = readJson(join(root, 'package-lock.json'))?.packages
  // npm writes this list when it is done, and `npm ci` removes it first.
  const listed = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages
  if (locked === undefined || listed === undefined) return false
  const direct = directOptional(locked)
  return (
    Object.entries(locked).every(
      ([path, wanted]) => isThere(root, path, wanted) || mayBeMissing(path, wanted, direct),
    ) && !Object.keys(listed).some((path) => isNested(path) && !(path in locked) && existsSync(join(root, path)))
  )
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Goes by the package itself: `npm install --package-lock-only` lists packages that it does not install. */
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
 * Whether npm may have left a package out. It leaves optional packages out for more reasons than their own platform: nothing
 * else needs them, or the machine's Node is too old. What the project itself names for this platform must be there.
 */
function mayBeMissing(path, { optional, os, cpu }, direct) {
  if (!optional) return false
  return !direct.has(path) || !allows(os, process.platform) || !allows(cpu, process.arch)
}

/** The folders of optional packages that the project itself names, in whichever of its workspaces. */
function directOptional(locked) {
  const own = Object.entries(locked).filter(([path]) => !path.includes('node_modules/'))
  const names = own.flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
  return new Set(names.map((name) => `node_modules/${name}`))
}

/** Whether a list such as `linux`, `["darwin", "linux"]` or `["!win32"]` allows a platform; without a list, all are. */
function allows(list, platform) {
  const names = list === undefined ? [] : [list].flat()
  if (names.includes(`!${platform}`)) return false
  const wanted = names.filter((name) => !name.startsWith('!'))
  return wanted.length === 0 || wanted.includes(platform)
}

/** Whether a package belongs to one other package alone, which would not find a version further up. */
function isNested(path) {
  return path.lastIndexOf('node_modules/') > 0
}
