import type { ImportedFile } from '@sluice/bucket-uploads'
import type { ListedObject, ObjectInfo } from '@sluice/s3-endpoint'
import type { ObjectMetadata, ListedObject as StoredObject } from '@sluice/storage'

/** Removes the quotes of an ETag. Storage returns ETags in quotes; the backend of the S3 endpoint has none. */
export function withoutQuotes(etag: string): string {
  return etag.replaceAll('"', '')
}

/** Describes a file as the object that its sender uploaded. */
export function infoOf(
  key: string,
  file: Omit<ImportedFile, 'fileName' | 'objectKey'>,
  metadata: ObjectMetadata,
): ObjectInfo {
  return { ...listed({ key, ...file }), metadata }
}

/** Describes an object as listings show it. S3 shows times in whole seconds. */
export function listed({ key, byteSize, etag, modifiedAt }: StoredObject): ListedObject {
  const second = new Date(Math.floor(modifiedAt.getTime() / 1000) * 1000)
  return { key, size: byteSize, etag: withoutQuotes(etag), modifiedAt: second }
}
