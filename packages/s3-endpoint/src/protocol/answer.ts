import type { Readable } from 'node:stream'
import { writeXml, type XmlContent } from './xml-writer.ts'

/**
 * What an operation answers. Header names are in lower case.
 *
 * A stream has exactly `length` bytes; `close` is called when it was sent or is not needed.
 */
export type Answer = {
  status: number
  headers: Record<string, string>
  body: string | AnswerStream | undefined
}

type AnswerStream = { length: number; open(): Readable; close(): Promise<void> }

/** An answer with a document in S3's namespace. */
export function xmlAnswer(name: string, content: XmlContent, headers: Record<string, string> = {}): Answer {
  return { status: 200, headers: { 'content-type': 'application/xml', ...headers }, body: writeXml(name, content) }
}

/** An answer without a body. */
export function emptyAnswer(status: number, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: undefined }
}
