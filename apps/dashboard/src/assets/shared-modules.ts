import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

/**
 * Modules of packages that scripts for browsers may import: what an import does with a file is shown by the very code that does
 * it. They import their neighbours only.
 */
const shared = ['@sluice/profiles/text-inference']

const { resolve } = createRequire(import.meta.url)

/** Those modules and what they import, by the names under which they are served, with their sources. */
export function sharedModules(): [name: string, source: string][] {
  const files = new Set(shared.map((name) => resolve(name)))
  // What is added on the way is gone through, too.
  for (const file of files) {
    const imports = readFileSync(file, 'utf8').matchAll(/^import .* from '(\.\/[^']+)'$/gm)
    for (const [, path = ''] of imports) files.add(join(dirname(file), path))
  }
  return [...files].map((file) => [basename(file), readFileSync(file, 'utf8')])
}

/** A script for browsers with the names of shared modules replaced by where browsers find them. */
export function useSharedModules(source: string): string {
  return shared.reduce((text, name) => text.replaceAll(`'${name}'`, `'./${basename(resolve(name))}'`), source)
}
