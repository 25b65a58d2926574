import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  path: string
  /** Fills the disk and leaves `freeBytes` free. */
  fill(freeBytes?: number): Promise<void>
  /** Frees the space that {@link fill} took. */
  empty(): Promise<void>
  remove(): Promise<void>
}

/**
 * Mounts a disk of `bytes` bytes. Returns undefined if the machine does not allow it: mounting requires root on Linux.
 */
export async function mountSmallDisk(bytes: number): Promise<SmallDisk | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    console.warn('not tested: this machine does not allow mounting a small disk')
    await rm(path, { recursive: true })
    return undefined
  }
  const ballast = join(path, 'ballast')
  return {
    path,
    async fill(freeBytes = 0) {
      const { bavail, bsize } = await statfs(path)
      await writeFile(ballast, Buffer.alloc(bavail * bsize - freeBytes)).catch((error: NodeJS.ErrnoException) => {
        // Somebody else took some of the space meanwhile. The disk is full all the same.
        if (error.code !== 'ENOSPC' || freeBytes > 0) throw error
      })
    },
    empty: () => rm(ballast, { force: true }),
    async remove() {
      execFileSync('umount', ['--lazy', path])
      await rm(path, { recursive: true, force: true })
    },
  }
}
