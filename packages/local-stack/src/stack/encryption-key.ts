import { randomBytes } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere } from '../read-if-there.ts'
import type { Environment } from './settings.ts'

/**
 * Gives `ENCRYPTION_KEYS` of a stack: what the environment says, or a key that is made once, and kept in a file of the folder
 * `home` that only its owner reads.
 */
export async function encryptionKeysOf(home: string, env: Environment): Promise<string> {
  if (env.ENCRYPTION_KEYS) return env.ENCRYPTION_KEYS
  const path = join(home, 'encryption-key')
  const kept = await readIfThere(path)
  if (kept !== undefined) return kept.trim()
  const key = randomBytes(32).toString('base64')
  await writeFile(`${path}.part`, `${key}\n`, { mode: 0o600, flush: true })
  await rename(`${path}.part`, path)
  return key
}
