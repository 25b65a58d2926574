import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readIfExists, writeWhole } from '../whole-file.ts'
import type { Environment } from './settings.ts'

/** The settings of `@sluice/storage` for the embedded storage of a stack, except for its address. */
export interface StorageAccess {
  S3_REGION: string
  S3_BUCKET: string
  S3_ACCESS_KEY_ID: string
  S3_SECRET_ACCESS_KEY: string
}

/**
 * Returns region, bucket and access key of the embedded storage. The key is created once, and kept in a file of the
 * folder `home` that only its owner can read. Throws if the file contains no key.
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
  const stored = await readIfExists(path)
  if (stored !== undefined) {
    const { accessKeyId, secretAccessKey } = JSON.parse(stored)
    if (typeof accessKeyId === 'string' && typeof secretAccessKey === 'string') return { accessKeyId, secretAccessKey }
    throw new Error(`${path} contains no access key: remove the file to have a new key created`)
  }
  const credentials = {
    accessKeyId: `SLUICE${randomBytes(7).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('hex'),
  }
  await writeWhole(path, JSON.stringify(credentials))
  return credentials
}
