import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for temporary files. It is removed by its disposal, or at the latest when the process exits. */
interface Scratch extends AsyncDisposable {
  path: string
}

/** Opens a new folder among the temporary files of the machine. Its name begins with `prefix`. */
export async function openScratch(prefix: string): Promise<Scratch> {
  const path = await mkdtemp(join(tmpdir(), prefix))
  const removal = { recursive: true, force: true, maxRetries: 5 } as const
  const removeNow = () => rmSync(path, removal)
  process.once('exit', removeNow)
  return {
    path,
    async [Symbol.asyncDispose]() {
      process.off('exit', removeNow)
      await rm(path, removal)
    },
  }
}
