import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const entry = fileURLToPath(new URL('./entry.ts', import.meta.url))

/**
 * Bundles the process under test into `folder`. Returns the path of its entry. A sweep starts thousands of processes,
 * and loading one file takes a third of the time of loading a thousand.
 */
export async function bundleSubject(folder: string): Promise<string> {
  const { output } = await build({
    input: { subject: entry },
    platform: 'node',
    logLevel: 'silent',
    output: { dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  })
  return `${folder}/${output[0].fileName}`
}
