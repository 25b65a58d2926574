import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { writeRelease } from './release.ts'
import { readSource, refusalOf } from './source.ts'

// npm run release -- --out DIR: writes everything that a release publishes to an empty folder, and publishes nothing.
// The working tree must be that of its commit. Two releases of one commit are equal byte by byte. Exits with code 1 if
// a release is refused or fails, and with 2 after wrong usage. For tests, `--with-changes` accepts any working tree, and
// `--without-image` leaves the image out.

process.exitCode = await main()

async function main(): Promise<number> {
  const { out, 'with-changes': withChanges, 'without-image': withoutImage } = readOptions()
  if (out === undefined) return refuse('usage: npm run release -- --out DIR', 2)
  const folder = resolve(out)
  if (existsSync(folder) && readdirSync(folder).length > 0) return refuse(`${folder} is not empty`)
  const source = readSource()
  const refusal = withChanges ? undefined : refusalOf(source)
  if (refusal !== undefined) return refuse(refusal)
  // Permissions in the image do not depend on the person who makes the release.
  process.umask(0o022)
  mkdirSync(folder, { recursive: true })
  const hasBuildah = spawnSync('buildah', ['--version']).status === 0
  if (!hasBuildah) console.log('The release has no image, because there is no buildah on the path.')
  await writeRelease(source, folder, hasBuildah && !withoutImage)
  console.log(`${readdirSync(folder).join('\n')}\n\nHow to publish them: docs/operations.md (Upgrades).`)
  return 0
}

/** Returns the options; none of them after wrong usage. */
function readOptions() {
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({ options: { out: { type: 'string' }, 'with-changes': flag, 'without-image': flag } }).values
  } catch {
    return {}
  }
}

function refuse(reason: string, code = 1): number {
  console.error(reason)
  return code
}
