import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Modules of packages that scripts for browsers may import, so that the preview has the rules and messages of an
 * import. A shared module may import only shared modules, and modules of its own folder.
 */
const shared = [
  '@sluice/contract/close-names',
  '@sluice/contract/import-messages',
  '@sluice/contract/limits',
  '@sluice/csv/browser',
  '@sluice/profiles/text-inference',
  'fflate/browser',
]

/** Returns the file of a module as a browser imports it. */
const resolve = (name: string) => fileURLToPath(import.meta.resolve(name))

/**
 * Returns the name and the source of each shared module, and of each module that a shared module imports. Browsers load
 * a module by this name.
 */
export function sharedModules(): [name: string, source: string][] {
  const files = new Set(shared.map((name) => resolve(name)))
  // Iterating over a set includes entries that are added during the iteration.
  for (const file of files) {
    const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export) .* from '(\.\/[^']+)'$/gm)
    for (const [, path = ''] of imports) files.add(join(dirname(file), path))
  }
  return [...files].map((file) => [basename(file), useSharedModules(basename(file), readFileSync(file, 'utf8'))])
}

/**
 * Replaces the names of shared modules in a script by the paths that browsers can load. `name` is the name under which
 * the script is served; scripts may be in folders, shared modules are not.
 */
export function useSharedModules(name: string, source: string): string {
  const root = `./${'../'.repeat(name.split('/').length - 1)}`
  return shared.reduce(
    (text, module) => text.replaceAll(`'${module}'`, `'${root}${basename(resolve(module))}'`),
    source,
  )
}
