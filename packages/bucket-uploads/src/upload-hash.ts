import { createHash } from 'node:crypto'
import { type Database, sql } from '@sluice/database'
import type { ListedObject } from '@sluice/storage'
import { isRefused } from './unannounced-failures.ts'

/** What brought a file into the bucket, by which a repetition is recognised. Signature and MD5 are in hex. */
export type UploadOrigin =
  | { kind: 'request'; signature: string; md5: string }
  | { kind: 'object'; hash: Buffer }
  /** A repeated completion names the import itself. */
  | { kind: 'parts' }

/** What an import keeps of its file's origin. */
interface OriginHashes {
  /** Unique among the app's imports. */
  uploadHash: Buffer | null
  signatureHash: Buffer | null
  /** MD5 of the content in base64. */
  checksum: string | null
}

/** First key of the lock, so that it is nobody else's: "sign" in ASCII. */
const lockSpace = 0x7369676e

/**
 * Returns what an import keeps of its file's origin. Returns undefined if the file must not become an import: it repeats the
 * latest upload with its signature, or was refused while it was copied.
 */
export async function hashesOf(tx: Database, appId: number, origin: UploadOrigin): Promise<OriginHashes | undefined> {
  if (origin.kind === 'request') return await hashesOfRequest(tx, appId, origin)
  if (origin.kind === 'parts') return { uploadHash: null, signatureHash: null, checksum: null }
  // Later files may have overtaken a refused one.
  if (await isRefused(tx, { appId, hash: origin.hash })) return undefined
  return { uploadHash: origin.hash, signatureHash: null, checksum: null }
}

/**
 * A pre-signed address has one signature for everything that is sent to it. The same content therefore counts as new after
 * other content, and if nothing came of the latest import.
 */
async function hashesOfRequest(
  tx: Database,
  appId: number,
  { signature, md5 }: { signature: string; md5: string },
): Promise<OriginHashes | undefined> {
  const signatureHash = hash('signature', signature)
  const checksum = Buffer.from(md5, 'hex').toString('base64')
  // An upload with this signature that is about to commit may be the latest one.
  await sql`select pg_advisory_xact_lock(${lockSpace}::integer, ${signatureHash.readInt32BE()}::integer)`.execute(tx)
  const latest = await tx
    .selectFrom('imports')
    .select(['import_id', 'state', 'checksum'])
    .where('app_id', '=', appId)
    .where('signature_hash', '=', signatureHash)
    .orderBy('sequence_number', 'desc')
    .limit(1)
    .executeTakeFirst()
  // Without an earlier one, the hash is the one that the release before this one knows.
  if (latest === undefined) return { uploadHash: hash('request', signature, md5), signatureHash, checksum }
  const isImported = latest.state !== 'failed' && latest.state !== 'cancelled'
  if (isImported && latest.checksum === checksum) return undefined
  return { uploadHash: hash('request', signature, md5, latest.import_id), signatureHash, checksum }
}

/** Returns the hash of an object in the bucket: of its key, ETag and second. */
export function hashOfObject({ key, etag, modifiedAt }: ListedObject): Buffer {
  return hash('object', key, etag, Math.floor(modifiedAt.getTime() / 1000))
}

function hash(...parts: readonly (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}
