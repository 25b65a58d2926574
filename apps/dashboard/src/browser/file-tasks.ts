import { Conversion, OtherEncoding } from './conversion/conversion.ts'
import { encodingNames } from './conversion/encodings.ts'
import type { FileKind } from './conversion/file-kind.ts'
import type { Plan } from './conversion/plan.ts'
import { type OtherText, Utf8Check } from './conversion/utf8-check.ts'
import { uncompressed } from './file-start.ts'
import { type OnRead, readParts } from './read-parts.ts'
import { unpack } from './unpack.ts'

// What the worker of the data import page does with a whole file. Memory does not grow with the file, because browsers
// keep the parts of a Blob outside of the page.

export interface WholeFile {
  file: Blob
  kind: FileKind
}

/**
 * Checks a whole file for UTF-8. Returns what is known of its other lines; undefined if all lines are UTF-8. Fails if
 * compressed data cannot be read to its end.
 */
export async function findOtherText({ file, kind }: WholeFile, onRead: OnRead): Promise<OtherText | undefined> {
  const check = new Utf8Check()
  const reader = uncompressed(readParts(file, onRead), kind).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (check.push(value)) continue
    void reader.cancel()
    break
  }
  return check.end()
}

/** Size of a part of a converted file, bytes. */
const partBytes = 2 ** 20

/** The file cannot be converted, for the reason in the message. */
export class NotConverted extends Error {
  override readonly name = 'NotConverted'
}

/**
 * Converts a file by a plan. A compressed file stays compressed.
 *
 * Throws {@link NotConverted} if bytes are not of the chosen encoding, if the result exceeds `limitBytes`, or if the
 * file cannot be read.
 */
export async function convertFile(
  { file, kind }: WholeFile,
  plan: Plan,
  limitBytes: number,
  onRead: OnRead,
): Promise<Blob> {
  const bytes = kind === 'gzip' ? unpack(file, onRead) : readParts(file, onRead)
  const text = bytes.pipeThrough(new TransformStream(new Conversion(plan)))
  const converted = kind === 'gzip' ? text.pipeThrough(new CompressionStream('gzip') as ByteTransform) : text
  try {
    return await collect(converted, limitBytes, kind)
  } catch (error) {
    if (error instanceof NotConverted) throw error
    throw new NotConverted(error instanceof OtherEncoding ? otherEncoding(error, plan) : unreadable(kind))
  }
}

type ByteTransform = ReadableWritablePair<Uint8Array, Uint8Array>

/** Collects a stream in a Blob, part by part. */
async function collect(stream: ReadableStream<Uint8Array>, limitBytes: number, kind: FileKind): Promise<Blob> {
  const reader = stream.getReader()
  const blobs: Blob[] = []
  let chunks: Uint8Array<ArrayBuffer>[] = []
  let [bytes, total] = [0, 0]
  for (;;) {
    const { done, value } = await reader.read()
    if (value !== undefined) {
      chunks.push(value as Uint8Array<ArrayBuffer>)
      bytes += value.length
      total += value.length
    }
    if (total > limitBytes) {
      void reader.cancel()
      throw new NotConverted(tooLarge(limitBytes, kind))
    }
    if (!done && bytes < partBytes) continue
    blobs.push(new Blob(chunks))
    chunks = []
    bytes = 0
    if (done) return new Blob(blobs, { type: 'text/csv' })
  }
}

function otherEncoding({ records }: OtherEncoding, { encoding }: Plan): string {
  const where = records > 1 ? `After row ${(records - 1).toLocaleString('en-US')}, the` : 'The'
  return `${where} file has bytes that are not ${encodingNames[encoding]}. Choose another encoding. Nothing was sent.`
}

function tooLarge(limitBytes: number, kind: FileKind): string {
  const advice = kind === 'gzip' ? 'Split it into smaller files.' : 'Compress it with gzip, and choose it again.'
  return `Converted, the file is over the limit of ${limitBytes / 2 ** 20} MB. ${advice} Nothing was sent.`
}

function unreadable(kind: FileKind): string {
  return kind === 'gzip'
    ? 'Your browser cannot unpack the file to its end. Unpack it, and choose the unpacked file. Nothing was sent.'
    : 'The file cannot be read any more. Choose it again. Nothing was sent.'
}
