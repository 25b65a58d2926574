import { readFile, rename, writeFile } from 'node:fs/promises'

/** Reads a text file. Returns undefined if it does not exist. Throws if it exists but cannot be read. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes a text file that only its owner can read. After a crash, the file is complete or missing. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.part`, text, { mode: 0o600, flush: true })
  await rename(`${path}.part`, path)
}
