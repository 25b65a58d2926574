import { S3Error } from '../errors.ts'

/** Reads lines and bytes from a stream of chunks. Buffers at most one chunk or line. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #chunk: Buffer = Buffer.alloc(0)
  /** The position in the chunk at which the next read begins. */
  #position = 0

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Whether no bytes are buffered, so that the next read waits for the stream. */
  get isEmpty(): boolean {
    return this.#position === this.#chunk.length
  }

  /** Reads 1 to `maxBytes` bytes. Throws IncompleteBody at the end of the stream. */
  async readSome(maxBytes: number): Promise<Buffer> {
    if (this.isEmpty && !(await this.#fill())) throw endedEarly()
    return this.readBuffered(maxBytes)
  }

  /** Returns up to `maxBytes` of the buffered bytes. */
  readBuffered(maxBytes: number): Buffer {
    const bytes = this.#chunk.subarray(this.#position, this.#position + maxBytes)
    this.#position += bytes.length
    return bytes
  }

  /** Reads the line up to the next CRLF. Throws InvalidRequest if it has more than `maxBytes` bytes. */
  async readLine(maxBytes: number): Promise<string> {
    for (;;) {
      const line = this.readBufferedLine(maxBytes)
      if (line !== undefined) return line
      if (!(await this.#fill())) throw endedEarly()
    }
  }

  /** Like {@link readLine}, but returns undefined if the line is not completely buffered. */
  readBufferedLine(maxBytes: number): string | undefined {
    const end = this.#chunk.indexOf('\r\n', this.#position)
    if (end - this.#position > maxBytes || (end < 0 && this.#chunk.length - this.#position > maxBytes + 1)) {
      throw new S3Error('InvalidRequest', 'A line of the chunked body is too long.')
    }
    if (end < 0) return undefined
    const line = this.#chunk.toString('latin1', this.#position, end)
    this.#position = end + 2
    return line
  }

  /** Reads the rest of the stream. Throws InvalidRequest if it has more than `maxBytes` bytes. */
  async readRest(maxBytes: number): Promise<string> {
    while (this.#chunk.length - this.#position <= maxBytes) {
      if (!(await this.#fill())) return this.#chunk.toString('latin1', this.#position)
    }
    throw new S3Error('InvalidRequest', 'The trailer of the chunked body is too long.')
  }

  /** Ends the iteration of the stream. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }

  async #fill(): Promise<boolean> {
    const next = await this.#source.next()
    if (next.done === true) return false
    this.#chunk = this.isEmpty ? next.value : Buffer.concat([this.#chunk.subarray(this.#position), next.value])
    this.#position = 0
    return true
  }
}

function endedEarly(): S3Error {
  return new S3Error('IncompleteBody', 'The chunked body ended before its last chunk.')
}
