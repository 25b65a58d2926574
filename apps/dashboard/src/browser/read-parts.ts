/** Accepts the number of bytes of a file that have been read. */
export type OnRead = (bytes: number) => void

/** Size of a part of a file that is read at once, bytes. */
const readBytes = 2 ** 15

/**
 * Returns the bytes of a file, and reports their number while they are read. Reads part by part: what the browser's own
 * stream of a file leaves behind is freed much later, and a tab that converts 150 MB needs 30 MB more.
 */
export function readParts(file: Blob, onRead: OnRead): ReadableStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0
  return new ReadableStream(
    {
      async pull(output) {
        const part = await file.slice(bytes, bytes + readBytes).arrayBuffer()
        bytes += part.byteLength
        onRead(bytes)
        output.enqueue(new Uint8Array(part))
        if (bytes === file.size) output.close()
      },
    },
    { highWaterMark: 0 },
  )
}
