import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's root folder. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** An app or a package. */
export interface Module {
  /** Such as `packages/engine/csv`. */
  folder: string
  /** Such as `@sluice/csv`. */
  name: string
  description: string
  dependencies: string[]
  devDependencies: string[]
  /** The file of each entry, such as `./src/limits.ts` of `./limits`. */
  exports: Readonly<Record<string, string>>
}

/**
 * Reads the `package.json` of every app and package. A folder without one is a group, such as `packages/engine`, or in
 * another language, as `packages/python-client`.
 */
export function readModules(): Module[] {
  return ['apps', 'packages'].flatMap((kind) => foldersIn(kind)).flatMap(modulesOf)
}

function modulesOf(folder: string): Module[] {
  const manifest = join(root, folder, 'package.json')
  if (!existsSync(manifest)) return foldersIn(folder).flatMap(modulesOf)
  const parsed = JSON.parse(readFileSync(manifest, 'utf8'))
  const { name, description = '', dependencies = {}, devDependencies = {}, exports = {} } = parsed
  return [
    {
      folder,
      name,
      description,
      dependencies: Object.keys(dependencies),
      devDependencies: Object.keys(devDependencies),
      exports,
    },
  ]
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${folder}/${name}`)
}
