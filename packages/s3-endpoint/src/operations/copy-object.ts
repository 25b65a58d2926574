import type { ObjectName } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { checkBucketName } from '../protocol/bucket-names.ts'
import { checkConditions, readSourceConditions, readWriteCondition } from '../protocol/conditions.ts'
import { objectChecksumElements, quoteEtag, readMetadata } from '../protocol/object-headers.ts'
import { checkKey, decodePercent } from '../protocol/request-target.ts'
import { readAlgorithm } from './checksum-headers.ts'
import type { OperationContext } from './context.ts'
import { missingObject } from './get-object.ts'

/**
 * Copies an object within the endpoint. x-amz-metadata-directive decides whether the copy gets the source's metadata.
 */
export async function copyObject(context: OperationContext): Promise<Answer> {
  const source = parseSource(context.headers.get('x-amz-copy-source') ?? '')
  const replaces = readDirective(context)
  if (!replaces && source.bucket === context.bucket && source.key === context.key) {
    throw new S3Error('InvalidRequest', 'This copy request is illegal: it copies an object to itself unchanged.')
  }
  if (!(await context.isAllowed('GetObject', source.bucket, source.key))) {
    throw new S3Error('AccessDenied', 'Access Denied')
  }
  const found = await context.backend.headObject(source)
  if (found === undefined) throw await missingObject(context.backend, source)
  if (checkConditions(found, readSourceConditions(context.headers)) !== 'proceed') {
    throw new S3Error('PreconditionFailed', 'At least one of the conditions of the source did not hold.')
  }
  const copy = await context.backend.copyObject(source, context, {
    metadata: replaces ? readMetadata(context.headers) : undefined,
    condition: readWriteCondition(context.headers),
    sourceEtag: found.etag,
    algorithm: readAlgorithm(context.headers),
  })
  return xmlAnswer('CopyObjectResult', [
    ['LastModified', copy.modifiedAt.toISOString()],
    ['ETag', quoteEtag(copy.etag)],
    ...objectChecksumElements(copy),
  ])
}

function readDirective({ headers }: OperationContext): boolean {
  const directive = headers.get('x-amz-metadata-directive')?.toUpperCase() ?? 'COPY'
  if (directive !== 'COPY' && directive !== 'REPLACE') {
    throw new S3Error('InvalidArgument', 'x-amz-metadata-directive must be COPY or REPLACE.')
  }
  return directive === 'REPLACE'
}

function parseSource(header: string): ObjectName {
  const path = header.replace(/^\//, '')
  const [encoded = '', version] = path.split('?versionId=')
  if (version !== undefined) throw new S3Error('NotImplemented', 'Versions are not supported.')
  const name = decodePercent(encoded)
  const slash = name.indexOf('/')
  if (slash < 0) throw new S3Error('InvalidArgument', 'x-amz-copy-source must have the form bucket/key.')
  const key = name.slice(slash + 1)
  checkKey(key)
  return { bucket: checkBucketName(name.slice(0, slash)), key }
}
