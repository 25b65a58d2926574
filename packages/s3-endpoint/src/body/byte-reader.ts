import { S3Error } from '../errors.ts'

/** Reads lines and byte runs out of a stream of chunks, holding back no more than one chunk or line. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Gives 1 to `most` bytes. Throws IncompleteBody at the end of the stream. */
  async readSome(most: number): Promise<Buffer> {
    if (this.#rest.length === 0 && !(await this.#fill())) throw endedEarly()
    const taken = this.#rest.subarray(0, most)
    this.#rest = this.#rest.subarray(taken.length)
    return taken
  }

  /** Gives the line up to the next CRLF, without it. Throws InvalidRequest where it has over `most` bytes. */
  async readLine(most: number): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf('\r\n')
      if (end > most || (end < 0 && this.#rest.length > most + 1)) {
        throw new S3Error('InvalidRequest', 'A line of the chunked body is too long.')
      }
      if (end >= 0) {
        const line = this.#rest.toString('latin1', 0, end)
        this.#rest = this.#rest.subarray(end + 2)
        return line
      }
      if (!(await this.#fill())) throw endedEarly()
    }
  }

  /** Gives all that is left of the stream. Throws InvalidRequest where that is over `most` bytes. */
  async readRest(most: number): Promise<string> {
    while (this.#rest.length <= most) {
      if (!(await this.#fill())) return this.#rest.toString('latin1')
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
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value])
    return true
  }
}

function endedEarly(): S3Error {
  return new S3Error('IncompleteBody', 'The chunked body ended before its last chunk.')
}
