import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { attachment } from './attachment.ts'
import { signedSeconds } from './credentials.ts'
import type { Storage } from './storage.ts'

/** How long an address for downloads is valid, ms. */
const downloadWindowMs = 5 * 60_000

/**
 * Pre-signed addresses at the address of a client (service.md, Endpoints 4; service.md, Authentication 4;
 * design.md §3, Upload binding).
 */
export function presignCalls(client: S3Client, Bucket: string): Pick<Storage, 'presignUpload' | 'presignDownload'> {
  return {
    async presignUpload(Key, { contentType, byteSize, checksum }, validForMs) {
      const about = { Bucket, Key, ContentType: contentType, ContentLength: byteSize, ContentMD5: checksum }
      // The presigner signs Content-Type only if it is listed.
      const signableHeaders = new Set(['host', 'content-type', 'content-md5', 'content-length'])
      const expiresIn = await signedSeconds(client, validForMs)
      return await getSignedUrl(client, new PutObjectCommand(about), { expiresIn, signableHeaders })
    },

    // design.md §3, Error file.
    async presignDownload(Key, fileName, contentType = 'text/csv; charset=utf-8') {
      const command = new GetObjectCommand({
        Bucket,
        Key,
        ResponseContentDisposition: attachment(fileName),
        ResponseContentType: contentType,
      })
      return await getSignedUrl(client, command, { expiresIn: await signedSeconds(client, downloadWindowMs) })
    },
  }
}
