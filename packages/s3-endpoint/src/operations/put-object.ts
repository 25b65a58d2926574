import { type Answer, emptyAnswer } from '../protocol/answer.ts'
import { quoteEtag } from '../protocol/etags.ts'
import { checksumHeaders, readMetadata } from '../protocol/object-headers.ts'
import type { OperationContext } from './context.ts'

/** Stores an object, completely or not at all. */
export async function putObject(context: OperationContext): Promise<Answer> {
  const metadata = readMetadata(context.headers)
  const body = context.openBody()
  const etag = await context.backend.putObject(context, body, metadata)
  return emptyAnswer(200, { etag: quoteEtag(etag), ...checksumHeaders(body.digests().checksums) })
}
