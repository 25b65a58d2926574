import { encodeUtf8 } from './encode.ts'
import { changesRecords, type Plan, recordConverters } from './plan.ts'
import { RecordReader, type SourceRecord } from './record-reader.ts'
import { writeRecord } from './record-writer.ts'

/** The file has bytes that are invalid in the chosen encoding. */
export class OtherEncoding extends Error {
  override readonly name = 'OtherEncoding'
  /** Number of records before the part of the file with the invalid bytes; 0 if the records are not read. */
  readonly records: number

  constructor(records: number) {
    super(`bytes of another encoding after ${records} records`)
    this.records = records
  }
}

/**
 * Number of bytes that are converted at once. Larger texts survive many garbage collections: with chunks as large as
 * browsers deliver them, a tab needs 50 MB more.
 */
const stepBytes = 32_768

/**
 * Converts the bytes of a file to CSV in UTF-8 with commas and LF. A transformer for a `TransformStream`: memory does
 * not grow with the file.
 *
 * Fails with {@link OtherEncoding} instead of replacing characters.
 */
export class Conversion {
  readonly #decoder: InstanceType<typeof TextDecoder>
  /** Undefined if only the encoding changes: the text is then copied as it is. */
  readonly #rewriter: Rewriter | undefined

  constructor(plan: Plan) {
    this.#decoder = new TextDecoder(plan.encoding, { fatal: true })
    this.#rewriter = changesRecords(plan) ? new Rewriter(plan) : undefined
  }

  transform(chunk: Uint8Array, output: TransformStreamDefaultController<Uint8Array>): void {
    for (let at = 0; at < chunk.length; at += stepBytes) {
      this.#write(this.#decode(chunk.subarray(at, at + stepBytes)), output)
    }
  }

  flush(output: TransformStreamDefaultController<Uint8Array>): void {
    this.#write(this.#decode(), output)
    const rest = this.#rewriter?.end() ?? ''
    if (rest !== '') output.enqueue(encodeUtf8(rest))
  }

  #write(text: string, output: TransformStreamDefaultController<Uint8Array>): void {
    const converted = this.#rewriter?.push(text) ?? text
    if (converted !== '') output.enqueue(encodeUtf8(converted))
  }

  #decode(chunk?: Uint8Array): string {
    try {
      return chunk === undefined ? this.#decoder.decode() : this.#decoder.decode(chunk, { stream: true })
    } catch {
      throw new OtherEncoding(this.#rewriter?.records ?? 0)
    }
  }
}

/** Writes the records of a text anew. */
class Rewriter {
  /** Number of records so far, the header included. */
  records = 0
  readonly #reader: RecordReader
  readonly #converters: ReturnType<typeof recordConverters>
  /** Number of characters that precede the first record and have not arrived yet. */
  #prefixLeft: number

  constructor(plan: Plan) {
    this.#reader = new RecordReader(plan.dialect)
    this.#converters = recordConverters(plan)
    this.#prefixLeft = plan.prefixLength
  }

  push(text: string): string {
    const skipped = Math.min(this.#prefixLeft, text.length)
    this.#prefixLeft -= skipped
    return this.#rewrite(this.#reader.push(text.slice(skipped)))
  }

  end(): string {
    return this.#rewrite(this.#reader.end())
  }

  #rewrite(records: Generator<SourceRecord>): string {
    let text = ''
    for (const record of records) {
      const convert = this.records === 0 ? this.#converters.header : this.#converters.row
      text += writeRecord(convert(record))
      this.records++
    }
    return text
  }
}
