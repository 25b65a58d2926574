import { S3Error, toS3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { checkKey } from '../protocol/request-target.ts'
import { childText, malformed, parseXml } from '../protocol/xml-reader.ts'
import type { XmlElement } from '../protocol/xml-writer.ts'
import { requireBucket } from './buckets.ts'
import type { OperationContext } from './context.ts'
import { readXmlBody } from './xml-body.ts'

const MAX_KEYS = 1000

/** Deletes up to 1,000 objects; the answer says of each whether it went well. */
export async function deleteObjects(context: OperationContext): Promise<Answer> {
  requireDigest(context)
  await requireBucket(context.backend, context.bucket)
  const { keys, quiet } = parseRequest(await readXmlBody(context.openBody()))
  const results: XmlElement[] = []
  for (const key of keys) {
    const error = await tryToDelete(context, key)
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

/** A damaged list would delete the wrong objects, so S3 asks for a digest of it. */
function requireDigest({ headers }: OperationContext): void {
  const names = [...headers.keys()]
  const hasDigest = names.some((name) => name === 'content-md5' || name.startsWith('x-amz-checksum-'))
  if (!hasDigest && !headers.has('x-amz-trailer')) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: Content-MD5')
  }
}

function parseRequest(text: string): { keys: string[]; quiet: boolean } {
  const root = parseXml(text, 'Delete')
  const objects = root.children.filter((child) => child.name === 'Object')
  if (objects.length === 0 || objects.length > MAX_KEYS) throw malformed()
  const keys = objects.map((object) => {
    const key = childText(object, 'Key')
    if (key === undefined || key === '') throw malformed()
    if (childText(object, 'VersionId') !== undefined) {
      throw new S3Error('NotImplemented', 'Versions are not supported.')
    }
    return key
  })
  return { keys, quiet: childText(root, 'Quiet')?.trim() === 'true' }
}

async function tryToDelete(context: OperationContext, key: string): Promise<S3Error | undefined> {
  try {
    checkKey(key)
    if (!(await context.isAllowed('DeleteObject', context.bucket, key))) {
      return new S3Error('AccessDenied', 'Access Denied')
    }
    await context.backend.deleteObject({ bucket: context.bucket, key })
    return undefined
  } catch (error) {
    return toS3Error(error)
  }
}
