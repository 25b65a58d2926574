import { S3Error } from '../errors.ts'

/** Reads lines and byte runs out of a stream of chunks, holding back no more than one chunk or line. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #chunk: Buffer = Buffer.alloc(0)
  /** Where in the chunk the next read begins. */
  #at = 0

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Whether the next read waits for the stream. */
  get isEmpty(): boolean {
    return this.#at === this.#chunk.length
  }

  /** Gives 1 to `most` bytes. Throws IncompleteBody at the end of the stream. */
  async readSome(most: number): Promise<Buffer> {
    if (this.isEmpty && !(await this.#fill())) throw endedEarly()
    return this.takeSome(most)
  }

  /** Returns up to `most` bytes of those that are there. */
  takeSome(most: number): Buffer {
    const taken = this.#chunk.subarray(this.#at, this.#at + most)
    this.#at += taken.length
    return taken
  }

  /** Gives the line up to the next CRLF, without it. Throws InvalidRequest where it has over `most` bytes. */
  async readLine(most: number): Promise<string> {
    for (;;) {
      const line = this.takeLine(most)
      if (line !== undefined) return line
      if (!(await this.#fill())) throw endedEarly()
    }
  }

  /** Returns the same if the whole line is there, and otherwise undefined. */
  takeLine(most: number): string | undefined {
    const end = this.#chunk.indexOf('\r\n', this.#at)
    if (end - this.#at > most || (end < 0 && this.#chunk.length - this.#at > most + 1)) {
      throw new S3Error('InvalidRequest', 'A line of the chunked body is too long.')
    }
    if (end < 0) return undefined
    const line = this.#chunk.toString('latin1', this.#at, end)
    this.#at = end + 2
    return line
  }

  /** Gives all that is left of the stream. Throws InvalidRequest where that is over `most` bytes. */
  async readRest(most: number): Promise<string> {
    while (this.#chunk.length - this.#at <= most) {
      if (!(await this.#fill())) return this.#chunk.toString('latin1', this.#at)
    }
    throw new S3Error('InvalidRequest', 'The trailer of the chunked body is too long.')
  }

  /** Lets go of the stream. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }

  async #fill(): Promise<boolean> {
    const next = await this.#source.next()
    if (next.done === true) return false
    this.#chunk = this.isEmpty ? next.value : Buffer.concat([this.#chunk.subarray(this.#at), next.value])
    this.#at = 0
    return true
  }
}

function endedEarly(): S3Error {
  return new S3Error('IncompleteBody', 'The chunked body ended before its last chunk.')
}
