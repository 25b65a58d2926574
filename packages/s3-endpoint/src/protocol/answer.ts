import type { Readable } from 'node:stream'
import { writeXml, type XmlContent } from './xml.ts'

/**
 * The answer of an operation. Header names are in lower case.
 *
 * A stream has exactly `length` bytes. `close` is called after the stream was sent, or if it is not needed.
 */
export interface Answer {
  status: number
  headers: Record<string, string>
  body: string | AnswerStream | undefined
}

interface AnswerStream {
  length: number
  open(): Readable
  close(): Promise<void>
}

/** Makes an answer with a document in S3's namespace. */
export function xmlAnswer(name: string, content: XmlContent, headers: Record<string, string> = {}): Answer {
  return { status: 200, headers: { 'content-type': 'application/xml', ...headers }, body: writeXml(name, content) }
}

export function emptyAnswer(status: number, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: undefined }
}
