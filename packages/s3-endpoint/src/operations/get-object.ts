import type { Backend, ObjectInfo, ObjectName, OpenObject } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, emptyAnswer } from '../protocol/answer.ts'
import { checkConditions, parseEtag, readConditions, readDeleteCondition } from '../protocol/conditions.ts'
import { objectChecksumHeaders, objectHeaders, quoteEtag } from '../protocol/object-headers.ts'
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
    const { range, ...answer } = describe(context, object.info)
    if (answer.status === 304) {
      await object.close()
      return { ...answer, body: undefined }
    }
    return { ...answer, body: streamOf(object, range) }
  } catch (error) {
    await object.close()
    throw error
  }
}

/** Answers like {@link getObject}, but without the bytes. */
export async function headObject(context: OperationContext): Promise<Answer> {
  const info = await context.backend.headObject(context)
  if (info === undefined) throw await missingObject(context.backend, context)
  const { range, ...answer } = describe(context, info)
  if (answer.status === 304) return { ...answer, body: undefined }
  return emptyAnswer(answer.status, { ...answer.headers, 'content-length': String(lengthOf(info, range)) })
}

/** Deletes an object. Succeeds if there is none. */
export async function deleteObject(context: OperationContext): Promise<Answer> {
  await context.backend.deleteObject(context, readDeleteCondition(context.headers))
  return emptyAnswer(204)
}

type Description = { status: number; headers: Record<string, string>; range: ByteRange | undefined }

/** Determines the status, the headers and the range of an answer. Throws PreconditionFailed or InvalidRange. */
function describe({ headers, query }: OperationContext, info: ObjectInfo): Description {
  const outcome = checkConditions(info, readConditions(headers))
  if (outcome === 'failed') throw new S3Error('PreconditionFailed', 'At least one of the conditions did not hold.')
  if (outcome === 'not-modified') {
    const unchanged = { etag: quoteEtag(info.etag), 'last-modified': info.modifiedAt.toUTCString() }
    return { status: 304, headers: unchanged, range: undefined }
  }
  const range = isRangeWanted(headers.get('if-range'), info) ? parseRange(headers.get('range'), info.size) : undefined
  if (range === 'unsatisfiable') {
    throw new S3Error('InvalidRange', 'The requested range is not satisfiable', {
      fields: { ActualObjectSize: String(info.size), RangeRequested: headers.get('range') ?? '' },
      headers: { 'content-range': `bytes */${info.size}` },
    })
  }
  const shown = objectHeaders(info, query)
  if (range !== undefined) {
    return {
      status: 206,
      headers: { ...shown, 'content-range': `bytes ${range.start}-${range.end}/${info.size}` },
      range,
    }
  }
  // The checksum is over the whole object, so it would be wrong for a range.
  const wantsChecksums = headers.get('x-amz-checksum-mode')?.toUpperCase() === 'ENABLED'
  return { status: 200, headers: wantsChecksums ? { ...shown, ...objectChecksumHeaders(info) } : shown, range }
}

/**
 * Whether a client that continues a download gets the range. If the object was replaced, the client gets the whole
 * object.
 */
function isRangeWanted(ifRange: string | undefined, info: ObjectInfo): boolean {
  if (ifRange === undefined) return true
  const date = Date.parse(ifRange)
  return Number.isNaN(date) ? parseEtag(ifRange) === info.etag : date >= info.modifiedAt.getTime()
}

function streamOf(object: OpenObject, range: ByteRange | undefined): Answer['body'] {
  const length = lengthOf(object.info, range)
  return {
    length,
    open: () => object.read(range ?? { start: 0, end: length - 1 }),
    close: () => object.close(),
  }
}

function lengthOf(info: ObjectInfo, range: ByteRange | undefined): number {
  return range === undefined ? info.size : range.end - range.start + 1
}

/** Returns the error NoSuchKey for a missing object. Throws NoSuchBucket if the bucket is missing. */
export async function missingObject(backend: Backend, { bucket, key }: ObjectName): Promise<S3Error> {
  await requireBucket(backend, bucket)
  return new S3Error('NoSuchKey', 'The specified key does not exist.', { fields: { Key: key } })
}
