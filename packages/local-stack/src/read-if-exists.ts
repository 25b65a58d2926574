import { readFile } from 'node:fs/promises'

/** Reads a text file. Returns undefined if it does not exist. Throws if it exists but cannot be read. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
