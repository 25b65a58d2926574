import type { DroppedFile } from '@sluice/bucket-uploads'
import type { Checksums, ListedObject, ObjectInfo } from '@sluice/s3-endpoint'
import type { RelayedMetadata, ListedObject as StoredObject } from '@sluice/storage'

/** An ETag as the protocol's backend has it. */
export function withoutQuotes(etag: string): string {
  return etag.replaceAll('"', '')
}

/** Shows a file that has become an import as the object that its sender put there. */
export function infoOf(
  key: string,
  file: Omit<DroppedFile, 'fileName' | 'objectKey'>,
  metadata: RelayedMetadata,
  checksums: Checksums = {},
): ObjectInfo {
  return { ...listed({ key, ...file }), metadata: { ...metadata, headers: {} }, checksums, checksumType: 'FULL_OBJECT' }
}

/** Shows an object as listings do. */
export function listed({ key, byteSize, etag, modifiedAt }: StoredObject): ListedObject {
  const second = new Date(Math.floor(modifiedAt.getTime() / 1000) * 1000)
  return { key, size: byteSize, etag: withoutQuotes(etag), modifiedAt: second }
}
