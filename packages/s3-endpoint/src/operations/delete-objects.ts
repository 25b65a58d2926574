import { S3Error, toS3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { checkKey } from '../protocol/request-target.ts'
import { malformed, readXmlBody, type XmlElements, type XmlForm } from '../protocol/xml.ts'
import { requireBucket } from './buckets.ts'
import type { OperationContext } from './context.ts'

const deleteForm: XmlForm = {
  root: 'Delete',
  texts: ['Quiet'],
  item: 'Object',
  itemTexts: ['Key'],
  maxItems: 1000,
  // Room for 1,000 keys of 1,024 bytes, some of them in escaped form.
  maxBytes: 2 * 1024 * 1024,
}

/** Deletes up to 1,000 objects. The answer has the result for each object. */
export async function deleteObjects(context: OperationContext): Promise<Answer> {
  requireDigest(context)
  await requireBucket(context.backend, context.bucket)
  const { texts, items } = await readXmlBody(context.openBody(), deleteForm)
  if (items.length === 0) throw malformed()
  const deleted: XmlElements[] = []
  const errors: XmlElements[] = []
  for (const item of items) {
    const key = item.get('Key')
    if (key === undefined || key === '') throw malformed()
    const error = await tryToDelete(context, key)
    if (error !== undefined) errors.push({ Key: key, Code: error.code, Message: error.message })
    else if (texts.get('Quiet')?.trim() !== 'true') deleted.push({ Key: key })
  }
  return xmlAnswer('DeleteResult', { Deleted: deleted, Error: errors })
}

/** Throws InvalidRequest if there is no digest of the body. A damaged list would delete the wrong objects. */
function requireDigest({ headers }: OperationContext): void {
  const names = [...headers.keys()]
  const hasDigest = names.some((name) => name === 'content-md5' || name.startsWith('x-amz-checksum-'))
  if (!hasDigest && !headers.has('x-amz-trailer')) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: Content-MD5')
  }
}

async function tryToDelete({ backend, bucket }: OperationContext, key: string): Promise<S3Error | undefined> {
  try {
    checkKey(key)
    await backend.deleteObject({ bucket, key })
    return undefined
  } catch (error) {
    return toS3Error(error)
  }
}
