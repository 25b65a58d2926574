import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { create } from 'tar'

/** The time of every file in an archive. Tools such as npm warn of times before 1980. */
const changedAt = new Date('1985-10-26T08:15:00Z')

/**
 * Packs all files of a folder into an archive, below `prefix` if it is given. A name with the extension `.tgz` means
 * compression with gzip.
 *
 * The archive depends only on names and content: order, times, owners and permissions are fixed. Every file is
 * readable, and those in `executables` can be run.
 */
export async function pack(
  folder: string,
  archive: string,
  { prefix = '', executables = [] }: { prefix?: string; executables?: readonly string[] } = {},
): Promise<void> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .toSorted()
  await create(
    {
      cwd: folder,
      file: archive,
      gzip: archive.endsWith('.tgz'),
      portable: true,
      mtime: changedAt,
      prefix,
      strict: true,
      onWriteEntry({ path, stat }) {
        if (stat !== undefined) stat.mode = executables.includes(path) ? 0o755 : 0o644
      },
    },
    files,
  )
}
