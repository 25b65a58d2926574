import type { Backend } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, emptyAnswer, xmlAnswer } from '../protocol/answer.ts'
import type { OperationContext } from './context.ts'

/** The owner of all buckets and objects. Clients expect some owner in the answers. */
export const owner = { ID: 'owner', DisplayName: 'owner' }

/** Checks that the bucket exists. */
export async function headBucket(context: OperationContext): Promise<Answer> {
  await requireBucket(context.backend, context.bucket)
  return emptyAnswer(200, { 'x-amz-bucket-region': context.region })
}

/** Returns the bucket's region. As in S3, the element is empty for us-east-1. */
export async function getBucketLocation(context: OperationContext): Promise<Answer> {
  await requireBucket(context.backend, context.bucket)
  return xmlAnswer('LocationConstraint', context.region === 'us-east-1' ? '' : context.region)
}

/** Creates a bucket. Throws NotImplemented for a document with the settings of the bucket. */
export async function createBucket({ backend, bucket, headers }: OperationContext): Promise<Answer> {
  if (await backend.hasBucket(bucket)) {
    throw new S3Error('BucketAlreadyOwnedByYou', 'Your previous request to create the named bucket succeeded.')
  }
  if ((headers.get('content-length') ?? '0') !== '0' || headers.has('transfer-encoding')) {
    throw new S3Error('NotImplemented', 'Settings of a bucket are not implemented.')
  }
  await backend.createBucket(bucket)
  return emptyAnswer(200, { location: `/${bucket}` })
}

/** Throws NoSuchBucket if there is no such bucket. */
export async function requireBucket(backend: Pick<Backend, 'hasBucket'>, bucket: string): Promise<void> {
  if (!(await backend.hasBucket(bucket))) {
    throw new S3Error('NoSuchBucket', 'The specified bucket does not exist', { fields: { BucketName: bucket } })
  }
}
