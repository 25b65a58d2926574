import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

// Writes what the image contains, for scanners, in the format CycloneDX. Runs in the image as well, where only npm is
// installed: node scripts/release/sbom.ts > sbom.cdx.json

interface Bom {
  metadata: { timestamp?: string; tools?: unknown; component: { name: string } }
  serialNumber?: string
  components: { 'bom-ref': string }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/**
 * Returns the npm packages of a deployment, according to the lockfile in `folder`, as JSON. A lockfile has one text
 * only: whatever depends on the time, on chance, on the folder's name or on the version of npm is left out. Throws if
 * npm fails.
 */
export function sbomOf(folder: string): string {
  const args = ['sbom', '--package-lock-only', '--omit=dev', '--omit=optional', '--sbom-format=cyclonedx']
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8', maxBuffer: 100_000_000 })
  if (status !== 0) throw new Error(`npm sbom failed: ${stderr}`)
  const { serialNumber: _, ...bom }: Bom = JSON.parse(stdout)
  const { timestamp: _time, tools: _tools, ...metadata } = bom.metadata
  // npm calls the project like its folder.
  const component = { ...metadata.component, name: 'sluice' }
  const components = bom.components.toSorted((a, b) => compare(a['bom-ref'], b['bom-ref']))
  const dependencies = bom.dependencies
    .map((each) => ({ ...each, dependsOn: each.dependsOn.toSorted(compare) }))
    .toSorted((a, b) => compare(a.ref, b.ref))
  return `${JSON.stringify({ ...bom, metadata: { ...metadata, component }, components, dependencies }, null, 2)}\n`
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b))

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(sbomOf(process.cwd()))
