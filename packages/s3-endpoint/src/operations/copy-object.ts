import type { ObjectName } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { checkIfMatch, quoteEtag } from '../protocol/etags.ts'
import { checkBucketName, checkKey, decodePercent } from '../protocol/request-target.ts'
import type { OperationContext } from './context.ts'
import { missingObject } from './objects.ts'

/** Copies an object, with its metadata, within the endpoint. */
export async function copyObject(context: OperationContext): Promise<Answer> {
  const { backend, headers } = context
  if ((headers.get('x-amz-metadata-directive') ?? 'COPY') !== 'COPY') {
    throw new S3Error('NotImplemented', 'A copy with other metadata is not implemented.')
  }
  const name = parseSource(headers.get('x-amz-copy-source') ?? '')
  if (name.bucket === context.bucket && name.key === context.key) {
    throw new S3Error('InvalidRequest', 'This copy request is illegal: it copies an object to itself unchanged.')
  }
  const source = await backend.openObject(name)
  if (source === undefined) throw await missingObject(backend, name)
  try {
    checkIfMatch(source.info.etag, headers.get('x-amz-copy-source-if-match'))
    const { etag, modifiedAt } = await backend.copyObject(source, context)
    return xmlAnswer('CopyObjectResult', { LastModified: modifiedAt.toISOString(), ETag: quoteEtag(etag) })
  } finally {
    await source.close()
  }
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
