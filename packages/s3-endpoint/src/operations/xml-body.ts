import { setImmediate as turn } from 'node:timers/promises'
import type { Upload } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { malformed, type XmlDocument, type XmlForm, XmlReader } from '../protocol/xml-reader.ts'

/** How much of a document is read before others get their turn, bytes. */
const blockBytes = 16 * 1024

/**
 * Reads a body that is a document, while it comes in. Other requests get their turn between two blocks of it.
 *
 * Throws MaxMessageLengthExceeded for a body over the form's limit, before reading, and what {@link XmlReader} throws.
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
    await turn()
  }
  reader.write(decode(new Uint8Array(), false))
  return reader.end()
}

/** Yields the bytes in blocks of one size: how they are cut on the wire makes no difference to the work. */
async function* blocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let block = Buffer.allocUnsafe(blockBytes)
  let filled = 0
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const taken = chunk.subarray(at, at + blockBytes - filled)
      block.set(taken, filled)
      at += taken.length
      filled += taken.length
      if (filled < blockBytes) continue
      yield block
      block = Buffer.allocUnsafe(blockBytes)
      filled = 0
    }
  }
  yield block.subarray(0, filled)
}
