import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readIfExists, writeWhole } from '../whole-file.ts'
import type { Environment } from './settings.ts'

/**
 * Returns `ENCRYPTION_KEYS` of a stack: the value in the environment, or else a key that is created once. The key is
 * kept in a file of the folder `home` that only its owner can read.
 */
export async function encryptionKeysOf(home: string, env: Environment): Promise<string> {
  if (env.ENCRYPTION_KEYS) return env.ENCRYPTION_KEYS
  const path = join(home, 'encryption-key')
  const stored = await readIfExists(path)
  if (stored !== undefined) return stored.trim()
  const key = randomBytes(32).toString('base64')
  await writeWhole(path, `${key}\n`)
  return key
}
