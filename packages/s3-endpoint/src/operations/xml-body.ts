import type { Upload } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { malformed } from '../protocol/xml-reader.ts'

/** Room for the largest documents: 10,000 parts with checksums, or 1,000 keys in escaped form. */
const MAX_XML_BYTES = 4 * 1024 * 1024

/** Reads a body that is a document. Throws MaxMessageLengthExceeded over 4 MiB, before reading, and MalformedXML. */
export async function readXmlBody(upload: Upload): Promise<string> {
  if (upload.size > MAX_XML_BYTES) throw new S3Error('MaxMessageLengthExceeded', 'Your request was too big.')
  const chunks: Uint8Array[] = []
  for await (const chunk of upload.chunks) chunks.push(chunk)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw malformed()
  }
}
