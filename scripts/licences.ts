import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

// npm run licences: what the image holds that others wrote, by licence, as the lockfile says.

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

/** A package of others, without tools and without what only some machines install. */
interface Dependency {
  name: string
  version: string
  /** As SPDX names it; `unknown` where the package does not say. */
  licence: string
}

/** The packages that a deployment installs, by name and version, each once. */
export function dependencies(): Dependency[] {
  const path = fileURLToPath(new URL('../package-lock.json', import.meta.url))
  const { packages } = lockfile.parse(JSON.parse(readFileSync(path, 'utf8')))
  const found = Object.entries(packages).flatMap(([place, { version, license, dev, optional, link }]) => {
    const name = place.split('node_modules/').at(-1) ?? ''
    if (!place.includes('node_modules/') || version === undefined || dev || optional || link) return []
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
