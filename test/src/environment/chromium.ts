import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/**
 * Finds the Chromium for browser tests: `CHROMIUM_PATH`, or a program on the path. Returns undefined if there is
 * neither. With `CI=true` it throws instead, so that no suite is skipped unnoticed.
 */
export async function findChromium(): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  const { CHROMIUM_PATH: given } = process.env
  for (const file of given ? [given] : candidates) {
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return file
  }
  if (process.env.CI === 'true') throw new Error('CI needs chromium on the path, or CHROMIUM_PATH')
  console.warn('Browser suites are skipped: there is no chromium on the path, and CHROMIUM_PATH is not set.')
  return undefined
}
