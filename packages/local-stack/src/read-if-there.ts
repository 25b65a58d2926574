import { readFile } from 'node:fs/promises'

/** Reads a text file; undefined where there is none. Throws where it is there but can't be read. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
