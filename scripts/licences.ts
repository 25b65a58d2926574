import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

// npm run licences: lists the third-party packages of the image by licence, according to the lockfile.

const lockfile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      license: z.string().optional(),
      dev: z.boolean().optional(),
      optional: z.boolean().optional(),
      link: z.boolean().optional(),
    }),
  ),
})

/** A third-party package. Development tools and optional packages are not included. */
interface Dependency {
  name: string
  version: string
  /** SPDX identifier, or `unknown` if the package names none. */
  licence: string
}

/** Returns the packages that a deployment installs, without duplicates, sorted by name. */
export function dependencies(): Dependency[] {
  const lockfilePath = fileURLToPath(new URL('../package-lock.json', import.meta.url))
  const { packages } = lockfile.parse(JSON.parse(readFileSync(lockfilePath, 'utf8')))
  const found = Object.entries(packages).flatMap(([path, { version, license, dev, optional, link }]) => {
    const name = path.split('node_modules/').at(-1) ?? ''
    if (!path.includes('node_modules/') || version === undefined || dev || optional || link) return []
    return [{ name, version, licence: license ?? 'unknown' }]
  })
  const unique = new Map(found.map((each) => [`${each.name} ${each.version}`, each]))
  return [...unique.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const byLicence = Map.groupBy(dependencies(), ({ licence }) => licence)
  for (const [licence, packages] of [...byLicence].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(
      `${licence} (${packages.length})\n  ${packages.map(({ name, version }) => `${name} ${version}`).join(', ')}`,
    )
  }
}
