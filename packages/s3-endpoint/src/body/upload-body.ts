import { createHash, type Hash } from 'node:crypto'
import type { Upload } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { base64Of, createChecksum, type Hasher } from './checksums.ts'
import { type ChunkSigning, decodeChunked } from './chunked-body.ts'
import type { DeclaredBody } from './declared.ts'

/**
 * Opens a request's body as an {@link Upload} that is verified while it is read.
 *
 * `source` is the body as it arrives. Reading `chunks` throws BadDigest, XAmzContentSHA256Mismatch,
 * SignatureDoesNotMatch, IncompleteBody or MalformedTrailerError if the body does not match `declared`.
 */
export function openUpload(source: AsyncIterable<Buffer>, declared: DeclaredBody, signing: ChunkSigning): Upload {
  const digester = new BodyDigester(declared)
  return {
    size: declared.size,
    accessKeyId: signing.signer.scope.accessKeyId,
    signature: signing.seed,
    chunks: verifiedChunks(source, declared, signing, digester),
    algorithm: declared.algorithm,
    digests: () => digester.result(),
  }
}

/**
 * Yields each chunk only when the next chunk has arrived, and the last chunk only when the whole body is verified. A
 * backend that streams the bytes to another store therefore never streams all bytes of a refused body.
 */
async function* verifiedChunks(
  source: AsyncIterable<Buffer>,
  declared: DeclaredBody,
  signing: ChunkSigning,
  digester: BodyDigester,
): AsyncGenerator<Buffer> {
  const { form } = declared
  const data = form.chunked
    ? decodeChunked(source, { signing: form.signedChunks ? signing : undefined, trailer: form.trailer })
    : withoutTrailer(source)
  let size = 0
  let preceding: Buffer | undefined
  try {
    for (;;) {
      const next = await data.next()
      if (next.done === true) {
        if (size < declared.size) throw wrongLength()
        await digester.finish(next.value)
        if (preceding !== undefined) yield preceding
        return
      }
      size += next.value.length
      if (size > declared.size) throw wrongLength()
      digester.update(next.value)
      if (preceding !== undefined) yield preceding
      preceding = next.value
    }
  } finally {
    // If reading ends early, this ends the reading of the request too. After the answer, the server reads and drops the
    // rest of the body.
    await data.return(new Map())
  }
}

async function* withoutTrailer(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, Map<string, string>> {
  yield* source
  return new Map()
}

/** Computes all declared digests and the ETag in one pass, and compares them at the end. */
class BodyDigester {
  readonly #declared: DeclaredBody
  readonly #md5 = createHash('md5')
  readonly #sha256: Hash | undefined
  readonly #checksum: Hasher | undefined
  #result: ReturnType<Upload['digests']> | undefined

  constructor(declared: DeclaredBody) {
    this.#declared = declared
    this.#sha256 = declared.form.sha256 === undefined ? undefined : createHash('sha256')
    this.#checksum = declared.algorithm && createChecksum(declared.algorithm)
  }

  update(chunk: Buffer): void {
    this.#md5.update(chunk)
    this.#sha256?.update(chunk)
    this.#checksum?.update(chunk)
  }

  /** Compares all digests with the declared ones and the trailing headers. Throws at the first difference. */
  async finish(trailer: Map<string, string>): Promise<void> {
    const { form, contentMd5, algorithm, checksum } = this.#declared
    if (this.#sha256 !== undefined && this.#sha256.digest('hex') !== form.sha256) {
      throw new S3Error(
        'XAmzContentSHA256Mismatch',
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
      )
    }
    const md5 = this.#md5.digest()
    if (contentMd5 !== undefined && md5.toString('base64') !== contentMd5) {
      throw new S3Error('BadDigest', 'The Content-MD5 you specified did not match what we received.')
    }
    const trailing = algorithm !== undefined && checksum === undefined ? [`x-amz-checksum-${algorithm}`] : []
    if (trailer.size !== trailing.length || !trailing.every((name) => trailer.has(name))) {
      throw new S3Error('MalformedTrailerError', 'The trailing headers differ from the names in x-amz-trailer.')
    }
    const computed = this.#checksum && (await base64Of(this.#checksum))
    if (computed !== (checksum ?? trailer.get(trailing[0] ?? ''))) {
      throw new S3Error('BadDigest', `The ${algorithm?.toUpperCase()} you specified did not match what we received.`)
    }
    this.#result = { md5: md5.toString('hex'), checksums: algorithm && computed ? { [algorithm]: computed } : {} }
  }

  result(): ReturnType<Upload['digests']> {
    if (this.#result === undefined) throw new Error('digests were asked for before the body was read to its end')
    return this.#result
  }
}

function wrongLength(): S3Error {
  return new S3Error('IncompleteBody', 'The body does not have the number of bytes that its headers declare.')
}
