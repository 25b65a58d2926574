import type { Backend, ObjectInfo, ObjectName } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, emptyAnswer } from '../protocol/answer.ts'
import { checkIfMatch, quoteEtag } from '../protocol/etags.ts'
import { checksumHeaders, objectHeaders, readMetadata } from '../protocol/object-headers.ts'
import { type ByteRange, parseRange } from '../protocol/ranges.ts'
import { requireBucket } from './buckets.ts'
import type { OperationContext } from './context.ts'

/**
 * Sends an object or a range of it. A later replacement or deletion of the object does not affect the bytes that are
 * sent.
 */
export async function getObject(context: OperationContext): Promise<Answer> {
  const object = await context.backend.openObject(context)
  if (object === undefined) throw await missingObject(context.backend, context)
  try {
    const { range, length, ...answer } = describe(context, object.info)
    return { ...answer, body: { length, open: () => object.read(range), close: () => object.close() } }
  } catch (error) {
    await object.close()
    throw error
  }
}

/** Answers like {@link getObject}, but without the bytes. */
export async function headObject(context: OperationContext): Promise<Answer> {
  const info = await context.backend.headObject(context)
  if (info === undefined) throw await missingObject(context.backend, context)
  const { status, headers, length } = describe(context, info)
  return emptyAnswer(status, { ...headers, 'content-length': String(length) })
}

/** Stores an object, completely or not at all. */
export async function putObject(context: OperationContext): Promise<Answer> {
  const metadata = readMetadata(context.headers)
  const body = context.openBody()
  const etag = await context.backend.putObject(context, body, metadata)
  return emptyAnswer(200, { etag: quoteEtag(etag), ...checksumHeaders(body.digests().checksums) })
}

/** Deletes an object. Succeeds if there is none. */
export async function deleteObject(context: OperationContext): Promise<Answer> {
  await context.backend.deleteObject(context)
  return emptyAnswer(204)
}

interface Description {
  status: number
  headers: Record<string, string>
  range: ByteRange
  length: number
}

/** Determines the status, the headers and the range of an answer. Throws PreconditionFailed or InvalidRange. */
function describe({ headers, query }: OperationContext, info: ObjectInfo): Description {
  checkIfMatch(info.etag, headers.get('if-match'))
  const asked = headers.get('range')
  const range = parseRange(asked, info.size)
  if (range === 'unsatisfiable') {
    throw new S3Error('InvalidRange', 'The requested range is not satisfiable', {
      fields: { ActualObjectSize: String(info.size), RangeRequested: asked ?? '' },
      headers: { 'content-range': `bytes */${info.size}` },
    })
  }
  const shown = objectHeaders(info, query)
  if (range === undefined) {
    return { status: 200, headers: shown, range: { start: 0, end: info.size - 1 }, length: info.size }
  }
  const { start, end } = range
  const contentRange = `bytes ${start}-${end}/${info.size}`
  return { status: 206, headers: { ...shown, 'content-range': contentRange }, range, length: end - start + 1 }
}

/** Returns the error NoSuchKey for a missing object. Throws NoSuchBucket if the bucket is missing. */
export async function missingObject(backend: Backend, { bucket, key }: ObjectName): Promise<S3Error> {
  await requireBucket(backend, bucket)
  return new S3Error('NoSuchKey', 'The specified key does not exist.', { fields: { Key: key } })
}
