import type { DeleteCondition } from '../backend.ts'
import { S3Error, toS3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { parseDeleteCondition } from '../protocol/conditions.ts'
import { checkKey } from '../protocol/request-target.ts'
import { malformed, type XmlForm, type XmlTexts } from '../protocol/xml-reader.ts'
import type { XmlElement } from '../protocol/xml-writer.ts'
import { requireBucket } from './buckets.ts'
import type { OperationContext } from './context.ts'
import { readXmlBody } from './xml-body.ts'

const maxDeletedKeys = 1000

/** Deletes up to 1,000 objects. The answer has the result for each object. */
export async function deleteObjects(context: OperationContext): Promise<Answer> {
  requireDigest(context)
  await requireBucket(context.backend, context.bucket)
  const { texts, items: named } = await readXmlBody(context.openBody(), deleteForm)
  if (named.length === 0) throw malformed()
  const quiet = texts.get('Quiet')?.trim() === 'true'
  const results: XmlElement[] = []
  for (const { key, condition } of named) {
    const error = await tryToDelete(context, key, condition)
    if (error !== undefined) {
      results.push([
        'Error',
        [
          ['Key', key],
          ['Code', error.code],
          ['Message', error.message],
        ],
      ])
    } else if (!quiet) {
      results.push(['Deleted', [['Key', key]]])
    }
  }
  return xmlAnswer('DeleteResult', results)
}

/** Throws InvalidRequest if there is no digest of the body. A damaged list would delete the wrong objects. */
function requireDigest({ headers }: OperationContext): void {
  const names = [...headers.keys()]
  const hasDigest = names.some((name) => name === 'content-md5' || name.startsWith('x-amz-checksum-'))
  if (!hasDigest && !headers.has('x-amz-trailer')) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: Content-MD5')
  }
}

/** An object to delete, with its condition. */
type NamedObject = { key: string; condition: DeleteCondition | undefined }

const deleteForm: XmlForm<NamedObject> = {
  root: 'Delete',
  texts: ['Quiet'],
  items: { name: 'Object', texts: ['Key', 'ETag', 'LastModifiedTime', 'Size'], max: maxDeletedKeys, read: readObject },
  // Room for 1,000 keys of 1,024 bytes with all their conditions, some of them in escaped form.
  maxBytes: 2 * 1024 * 1024,
}

function readObject(texts: XmlTexts): NamedObject {
  const key = texts.get('Key')
  if (key === undefined || key === '') throw malformed()
  const condition = {
    etag: texts.get('ETag'),
    modifiedAt: texts.get('LastModifiedTime')?.trim(),
    size: texts.get('Size')?.trim(),
  }
  return { key, condition: parseDeleteCondition(condition, malformed) }
}

async function tryToDelete(
  context: OperationContext,
  key: string,
  condition: DeleteCondition | undefined,
): Promise<S3Error | undefined> {
  try {
    checkKey(key)
    if (!(await context.isAllowed('DeleteObject', context.bucket, key))) {
      return new S3Error('AccessDenied', 'Access Denied')
    }
    await context.backend.deleteObject({ bucket: context.bucket, key }, condition)
    return undefined
  } catch (error) {
    return toS3Error(error)
  }
}
