import { type FileKind, fileKind, kindBytes } from './conversion/file-kind.ts'
import { unpackUnchecked } from './unpack.ts'

/** The number of uncompressed bytes that a preview uses. */
const previewBytes = 2 ** 20

/** The beginning of a chosen file. */
export interface FileStart {
  kind: FileKind
  /** The first bytes, uncompressed. */
  bytes: Uint8Array
  /** Whether `bytes` is the whole file. */
  isWhole: boolean
}

/** Reads the beginning of a file, which may be compressed with gzip. Rejects if the compressed data is damaged. */
export async function readStart(file: Blob): Promise<FileStart> {
  const kind = fileKind(new Uint8Array(await file.slice(0, kindBytes).arrayBuffer()))
  const reader = uncompressed(file.stream(), kind).getReader()
  const bytes = new Uint8Array(previewBytes)
  let count = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { kind, bytes: bytes.subarray(0, count), isWhole: true }
    const wanted = value.subarray(0, previewBytes - count)
    bytes.set(wanted, count)
    count += wanted.length
    if (count < previewBytes) continue
    void reader.cancel()
    return { kind, bytes, isWhole: false }
  }
}

/** Returns the bytes of a file without the compression, for reading only. */
export function uncompressed(
  bytes: ReadableStream<Uint8Array<ArrayBuffer>>,
  kind: FileKind,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return kind === 'gzip' ? unpackUnchecked(bytes) : bytes
}
