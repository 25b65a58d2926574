import { createHash } from 'node:crypto'
import { acquireLock, type Database } from '@sluice/database'
import type { ListedObject } from '@sluice/storage'
import { isRefused } from './unannounced-failures.ts'

/** The origin of a file, by which a repeated upload is recognised. Signature and MD5 are in hex. */
export type UploadOrigin = { accessKeyId?: string } & (
  | { kind: 'request'; signature: string; md5: string }
  | { kind: 'object'; hash: Buffer }
  /** An upload in parts needs no hash, because a repeated completion names the import itself. */
  | { kind: 'parts' }
)

/** The hashes of a file's origin that its import stores. */
interface OriginHashes {
  /** Unique among the app's imports. */
  uploadHash: Buffer | null
  signatureHash: Buffer | null
  /** MD5 of the content in base64. */
  checksum: string | null
}

/**
 * Returns the hashes of a file's origin for its import.
 *
 * Returns undefined if the file must not become an import: it repeats the latest upload with its signature, or it was
 * refused while it was copied.
 */
export async function hashesOf(tx: Database, appId: number, origin: UploadOrigin): Promise<OriginHashes | undefined> {
  if (origin.kind === 'request') return await hashesOfRequest(tx, appId, origin)
  if (origin.kind === 'parts') return { uploadHash: null, signatureHash: null, checksum: null }
  // A refused file must not be imported: later files of the app may already have overtaken it.
  if (await isRefused(tx, { appId, hash: origin.hash })) return undefined
  return { uploadHash: origin.hash, signatureHash: null, checksum: null }
}

/**
 * Returns the hashes of a request, or undefined if it repeats the latest upload with its signature.
 *
 * All uploads to one pre-signed address have the same signature. A client may send the files A, B and A to this
 * address, and the second A must apply after B. Equal signature and content therefore do not show that an upload is a
 * repetition. Only an upload with the content of the latest upload counts as the client's retry. If the latest import
 * failed or was cancelled, the same content is a new import too.
 */
async function hashesOfRequest(
  tx: Database,
  appId: number,
  { signature, md5 }: { signature: string; md5: string },
): Promise<OriginHashes | undefined> {
  const signatureHash = hash('signature', signature)
  const checksum = Buffer.from(md5, 'hex').toString('base64')
  // Waits for a concurrent upload with this signature. Once that upload has committed, it is the latest one.
  await acquireLock(tx, 'uploadsWithSignature', signatureHash.readInt32BE())
  const latest = await tx
    .selectFrom('imports')
    .select(['import_id', 'state', 'checksum'])
    .where('app_id', '=', appId)
    .where('signature_hash', '=', signatureHash)
    .orderBy('sequence_number', 'desc')
    .limit(1)
    .executeTakeFirst()
  const isImported = latest !== undefined && latest.state !== 'failed' && latest.state !== 'cancelled'
  if (isImported && latest.checksum === checksum) return undefined
  return { uploadHash: hash('request', signature, md5, latest?.import_id ?? ''), signatureHash, checksum }
}

/** Hashes an object's key, its ETag, and the second in which it was stored. */
export function hashOfObject({ key, etag, modifiedAt }: ListedObject): Buffer {
  return hash('object', key, etag, Math.floor(modifiedAt.getTime() / 1000))
}

function hash(...parts: readonly (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}
