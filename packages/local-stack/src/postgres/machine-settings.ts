import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'

/** What Postgres may use of a machine, in bytes. */
export interface Machine {
  memory: number
  freeDisk: number
}

const mebibyte = 2 ** 20
const gibibyte = 2 ** 30

/**
 * Returns the server settings that fit a machine. docs/operations.md (Postgres for imports) has the reasons, and
 * recommends the same for a deployment.
 *
 * Postgres's buffers get at most a quarter of the memory, and its log (WAL) a tenth of the free disk.
 */
export function settingsFor({ memory, freeDisk }: Machine): Record<string, string> {
  return {
    shared_buffers: megabytes(memory / 4, 32 * mebibyte, 4 * gibibyte),
    max_wal_size: megabytes(freeDisk / 10, 256 * mebibyte, 8 * gibibyte),
    checkpoint_timeout: '15min',
  }
}

/** Returns what Postgres may use of this machine. `directory` exists, on the disk that will hold the data. */
export async function thisMachine(directory: string): Promise<Machine> {
  const { bavail, bsize } = await statfs(directory)
  // Without a limit of a container, the constrained memory is 0 or larger than the machine's.
  const constrained = process.constrainedMemory()
  const memory = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return { memory, freeDisk: bavail * bsize }
}

function megabytes(bytes: number, least: number, most: number): string {
  return `${Math.floor(Math.min(Math.max(bytes, least), most) / mebibyte)}MB`
}
