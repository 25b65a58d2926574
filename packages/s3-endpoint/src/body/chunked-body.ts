import { createHash } from 'node:crypto'
import { S3Error } from '../errors.ts'
import { sha256Hex } from '../signature/canonical-request.ts'
import { checkSignature, type Signer, sign } from '../signature/signing-key.ts'
import { ByteReader } from './byte-reader.ts'

/** The data for verifying signed chunks. `seed` is the request's own signature, the first link of the chain. */
export interface ChunkSigning {
  signer: Signer
  seed: string
}

const maxChunkLineBytes = 256
const maxTrailerBytes = 4096
/**
 * The data of short chunks is joined up to this size, so that later steps work once per block instead of once per
 * chunk.
 */
const blockBytes = 64 * 1024
const emptySha256 = sha256Hex('')

/**
 * Decodes an aws-chunked body: `size[;chunk-signature=…] CRLF data CRLF` up to a chunk of size 0, then the trailer.
 *
 * Yields the data as it arrives, and joins the data of short chunks. A chunk's signature can be checked only after its
 * last byte, so callers must not trust yielded data before the generator ends.
 *
 * Returns the trailing headers by their names in lower case. Throws SignatureDoesNotMatch, IncompleteBody or
 * MalformedTrailerError, and InvalidRequest if the framing is broken.
 */
export async function* decodeChunked(
  source: AsyncIterable<Buffer>,
  options: { signing: ChunkSigning | undefined; trailer: boolean },
): AsyncGenerator<Buffer, Map<string, string>> {
  const reader = new ByteReader(source)
  try {
    return yield* decode(reader, options)
  } finally {
    await reader.close()
  }
}

async function* decode(
  reader: ByteReader,
  options: { signing: ChunkSigning | undefined; trailer: boolean },
): AsyncGenerator<Buffer, Map<string, string>> {
  let previous = options.signing?.seed ?? ''
  const block = new Block()
  for (;;) {
    const line = reader.readBufferedLine(maxChunkLineBytes) ?? (await reader.readLine(maxChunkLineBytes))
    const { size, signature } = parseChunkLine(line)
    const hash = options.signing === undefined ? undefined : createHash('sha256')
    for (let left = size; left > 0; ) {
      const data = reader.isEmpty ? await reader.readSome(left) : reader.readBuffered(left)
      left -= data.length
      hash?.update(data)
      block.add(data)
      if (block.size >= blockBytes || (reader.isEmpty && block.size > 0)) yield block.flush()
    }
    if (options.signing !== undefined && hash !== undefined) {
      const lines = [previous, emptySha256, hash.digest('hex')]
      checkSignature(sign(options.signing.signer, 'AWS4-HMAC-SHA256-PAYLOAD', lines), signature)
      previous = signature
    }
    if (size === 0) break
    const end = reader.readBufferedLine(maxChunkLineBytes) ?? (await reader.readLine(maxChunkLineBytes))
    if (end !== '') throw brokenFraming()
  }
  if (block.size > 0) yield block.flush()
  const lines = (await reader.readRest(maxTrailerBytes)).split(/\r?\n/).filter((line) => line !== '')
  if (!options.trailer && lines.length > 0) throw brokenFraming()
  const trailer = parseTrailer(lines)
  if (options.trailer && options.signing !== undefined) verifyTrailer(trailer, options.signing.signer, previous)
  return trailer
}

/** Decoded data that was not yet yielded. */
class Block {
  #pieces: Buffer[] = []
  size = 0

  add(data: Buffer): void {
    this.#pieces.push(data)
    this.size += data.length
  }

  /** Returns the data and empties the block. */
  flush(): Buffer {
    const [first, ...more] = this.#pieces
    const joined = first !== undefined && more.length === 0 ? first : Buffer.concat(this.#pieces, this.size)
    this.#pieces = []
    this.size = 0
    return joined
  }
}

function parseChunkLine(line: string): { size: number; signature: string } {
  const found = /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(line)
  if (found?.[1] === undefined) throw brokenFraming()
  return { size: Number.parseInt(found[1], 16), signature: found[2] ?? '' }
}

function parseTrailer(lines: string[]): Map<string, string> {
  const trailer = new Map<string, string>()
  for (const line of lines) {
    const found = /^([A-Za-z0-9-]+):\s*(\S+)\s*$/.exec(line)
    const [, name, value] = found ?? []
    if (name === undefined || value === undefined || trailer.has(name.toLowerCase())) {
      throw new S3Error('MalformedTrailerError', 'The request contained trailing data that was not well-formed.')
    }
    trailer.set(name.toLowerCase(), value)
  }
  return trailer
}

/** Checks the signature over the trailing headers, and removes it from them. */
function verifyTrailer(trailer: Map<string, string>, signer: Signer, previous: string): void {
  const signature = trailer.get('x-amz-trailer-signature') ?? ''
  trailer.delete('x-amz-trailer-signature')
  const text = [...trailer].map(([name, value]) => `${name}:${value}\n`).join('')
  checkSignature(sign(signer, 'AWS4-HMAC-SHA256-TRAILER', [previous, sha256Hex(text)]), signature)
}

function brokenFraming(): S3Error {
  return new S3Error('InvalidRequest', 'The framing of the chunked body is broken.')
}
