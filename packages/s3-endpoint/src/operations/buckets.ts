import type { Backend } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, emptyAnswer, xmlAnswer } from '../protocol/answer.ts'
import { checkNewBucketName } from '../protocol/bucket-names.ts'
import type { XmlForm } from '../protocol/xml-reader.ts'
import type { OperationContext } from './context.ts'
import { readXmlBody } from './xml-body.ts'

/** The owner of all buckets and objects. Clients expect some owner in the answers. */
export const owner = [
  ['ID', 'owner'],
  ['DisplayName', 'owner'],
] as const

/**
 * The document that CreateBucket accepts. It has one short text, and takes about 200 bytes with declaration and
 * namespace.
 */
const bucketForm: XmlForm<never> = {
  root: 'CreateBucketConfiguration',
  texts: ['LocationConstraint'],
  items: undefined,
  maxBytes: 512,
}

/** Lists the buckets that the sender may list. */
export async function listBuckets(context: OperationContext): Promise<Answer> {
  const buckets = await context.backend.listBuckets()
  const allowed = await Promise.all(buckets.map(({ name }) => context.isAllowed('HeadBucket', name, '')))
  const shown = buckets.filter((_bucket, index) => allowed[index])
  return xmlAnswer('ListAllMyBucketsResult', [
    ['Owner', owner],
    [
      'Buckets',
      shown.map(({ name, createdAt }) => [
        'Bucket',
        [
          ['Name', name],
          ['CreationDate', createdAt.toISOString()],
        ],
      ]),
    ],
  ])
}

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

/** Creates a bucket, in this endpoint's region only. */
export async function createBucket(context: OperationContext): Promise<Answer> {
  checkNewBucketName(context.bucket)
  if (Number(context.headers.get('content-length') ?? 0) > 0) {
    const { texts } = await readXmlBody(context.openBody(), bucketForm)
    const location = texts.get('LocationConstraint')?.trim() || context.region
    if (location !== context.region) {
      throw new S3Error('InvalidArgument', `The location constraint must be ${context.region}.`)
    }
  }
  if (!(await context.backend.createBucket(context.bucket))) {
    throw new S3Error('BucketAlreadyOwnedByYou', 'Your previous request to create the named bucket succeeded.')
  }
  return emptyAnswer(200, { location: `/${context.bucket}` })
}

/** Throws NoSuchBucket if there is no such bucket. */
export async function requireBucket(backend: Backend, bucket: string): Promise<void> {
  if (!(await backend.hasBucket(bucket))) {
    throw new S3Error('NoSuchBucket', 'The specified bucket does not exist', { fields: { BucketName: bucket } })
  }
}
