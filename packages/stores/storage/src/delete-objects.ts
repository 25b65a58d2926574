import { createHash } from 'node:crypto'
import { DeleteObjectsCommand, type S3Client } from '@aws-sdk/client-s3'

/**
 * Deletes objects of a bucket in one request. Keys that do not exist count as deleted. Throws if storage keeps an
 * object.
 *
 * Sends the MD5 of the request, which the SDK no longer does. Some storages refuse the request without it, for example
 * OpenStack Swift.
 */
export async function deleteObjects(client: S3Client, bucket: string, keys: readonly string[]): Promise<void> {
  const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: keys.map((Key) => ({ Key })) } })
  command.middlewareStack.add(
    (next) => async (args) => {
      const { request } = args
      if (isRequest(request)) {
        request.headers['content-md5'] = createHash('md5').update(request.body).digest('base64')
      }
      return await next(args)
    },
    { step: 'build', priority: 'low', name: 'contentMd5' },
  )
  const { Errors: errors } = await client.send(command)
  const kept = errors?.[0]
  if (kept !== undefined) throw new Error(`storage did not remove ${kept.Key}: ${kept.Message}`)
}

/** Whether a value is a request of the SDK whose whole body is in memory. */
function isRequest(request: unknown): request is { headers: Record<string, string>; body: string | Uint8Array } {
  if (typeof request !== 'object' || request === null || !('headers' in request) || !('body' in request)) return false
  return typeof request.body === 'string' || request.body instanceof Uint8Array
}
