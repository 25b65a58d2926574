import { type Answer, emptyAnswer } from '../protocol/answer.ts'
import { readWriteCondition } from '../protocol/conditions.ts'
import { objectChecksumHeaders, quoteEtag, readMetadata } from '../protocol/object-headers.ts'
import type { OperationContext } from './context.ts'

/** Stores an object, completely or not at all. */
export async function putObject(context: OperationContext): Promise<Answer> {
  const metadata = readMetadata(context.headers)
  const condition = readWriteCondition(context.headers)
  const stored = await context.backend.putObject(context, context.openBody(), { metadata, condition })
  return emptyAnswer(200, { etag: quoteEtag(stored.etag), ...objectChecksumHeaders(stored) })
}
