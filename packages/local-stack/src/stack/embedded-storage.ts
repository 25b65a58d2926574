import { randomBytes } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere } from '../read-if-there.ts'
import type { Environment } from './settings.ts'

/** How the embedded storage of a stack is reached, beside its address: settings of `@sluice/storage`. */
export interface StorageAccess {
  S3_REGION: string
  S3_BUCKET: string
  S3_ACCESS_KEY_ID: string
  S3_SECRET_ACCESS_KEY: string
}

/**
 * Gives region and bucket of the embedded storage, and its access key: made once, and kept in a file of the folder `home`
 * that only its owner reads. Throws where that file holds no key.
 */
export async function embeddedStorageAccess(home: string, env: Environment): Promise<StorageAccess> {
  const { accessKeyId, secretAccessKey } = await storageCredentials(join(home, 'storage-credentials.json'))
  return {
    S3_REGION: env.S3_REGION || 'us-east-1',
    S3_BUCKET: env.S3_BUCKET || 'sluice',
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  }
}

async function storageCredentials(path: string): Promise<{ accessKeyId: string; secretAccessKey: string }> {
  const kept = await readIfThere(path)
  if (kept !== undefined) {
    const { accessKeyId, secretAccessKey } = JSON.parse(kept)
    if (typeof accessKeyId === 'string' && typeof secretAccessKey === 'string') return { accessKeyId, secretAccessKey }
    throw new Error(`${path} holds no access key: remove it to have a new one made`)
  }
  const credentials = {
    accessKeyId: `SLUICE${randomBytes(7).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('hex'),
  }
  await writeFile(`${path}.part`, JSON.stringify(credentials), { mode: 0o600, flush: true })
  await rename(`${path}.part`, path)
  return credentials
}
