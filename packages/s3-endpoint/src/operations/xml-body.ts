import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Upload } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { malformed, type XmlDocument, type XmlForm, XmlReader } from '../protocol/xml-reader.ts'

/** The number of bytes of a document that are parsed before other requests can run. */
const blockBytes = 16 * 1024

/**
 * Reads an XML document while it is received. Other requests can run between two blocks of it.
 *
 * Throws MaxMessageLengthExceeded, without reading the body, if it exceeds the form's limit. Throws the errors of
 * {@link XmlReader}.
 */
export async function readXmlBody<Item>(upload: Upload, form: XmlForm<Item>): Promise<XmlDocument<Item>> {
  if (upload.size > form.maxBytes) throw new S3Error('MaxMessageLengthExceeded', 'Your request was too big.')
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (bytes: Uint8Array, stream: boolean) => {
    try {
      return decoder.decode(bytes, { stream })
    } catch {
      throw malformed()
    }
  }
  const reader = new XmlReader(form)
  for await (const block of blocks(upload.chunks)) {
    reader.write(decode(block, true))
    await yieldToOthers()
  }
  reader.write(decode(new Uint8Array(), false))
  return reader.end()
}

/** Yields the bytes in blocks of equal size, so that the sizes of packets do not affect the amount of work. */
async function* blocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let block = Buffer.allocUnsafe(blockBytes)
  let filled = 0
  for await (const chunk of chunks) {
    for (let position = 0; position < chunk.length; ) {
      const piece = chunk.subarray(position, position + blockBytes - filled)
      block.set(piece, filled)
      position += piece.length
      filled += piece.length
      if (filled < blockBytes) continue
      yield block
      block = Buffer.allocUnsafe(blockBytes)
      filled = 0
    }
  }
  yield block.subarray(0, filled)
}
