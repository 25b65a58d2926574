import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's root folder. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** An app or a package. */
export interface Module {
  /** Such as `packages/csv`. */
  folder: string
  /** Such as `@sluice/csv`. */
  name: string
  description: string
  dependencies: string[]
  devDependencies: string[]
}

/** Reads the `package.json` of every app and package. */
export function readModules(): Module[] {
  return ['apps', 'packages'].flatMap((kind) =>
    readdirSync(join(root, kind)).map((name) => {
      const folder = `${kind}/${name}`
      const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
      return {
        folder,
        name: manifest.name,
        description: manifest.description ?? '',
        dependencies: Object.keys(manifest.dependencies ?? {}),
        devDependencies: Object.keys(manifest.devDependencies ?? {}),
      }
    }),
  )
}
