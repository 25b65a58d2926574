import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file system of its own with little room. */
export interface SmallDisk {
  path: string
  /** Leaves so much room, bytes, or none. */
  fill(room?: number): Promise<void>
  /** Undoes that. */
  empty(): Promise<void>
  remove(): Promise<void>
}

/** Mounts a small disk (bytes). Gives undefined where the machine does not let us: that takes root on Linux. */
export async function mountSmallDisk(bytes: number): Promise<SmallDisk | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    console.warn('not tested: this machine does not let us mount a small disk')
    await rm(path, { recursive: true })
    return undefined
  }
  const ballast = join(path, 'ballast')
  return {
    path,
    async fill(room = 0) {
      const { bavail, bsize } = await statfs(path)
      await writeFile(ballast, Buffer.alloc(bavail * bsize - room))
    },
    empty: () => rm(ballast, { force: true }),
    async remove() {
      execFileSync('umount', ['--lazy', path])
      await rm(path, { recursive: true, force: true })
    },
  }
}
