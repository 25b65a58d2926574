/** The number of uncompressed bytes that a preview uses. */
const previewBytes = 2 ** 20

/** The beginning of a chosen file as text. */
export interface FileStart {
  text: string
  /** Whether `text` is the whole file. */
  isWhole: boolean
}

/** Reads the beginning of a file, which may be compressed with gzip. Rejects if the compressed data is damaged. */
export async function readStart(file: Blob): Promise<FileStart> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  const isGzip = first === 0x1f && second === 0x8b
  const bytes = isGzip ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream()
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const reader = bytes.getReader()
  let text = ''
  let count = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { text: text + decoder.decode(), isWhole: true }
    const wanted = value.subarray(0, previewBytes - count)
    text += decoder.decode(wanted, { stream: true })
    count += wanted.length
    if (count < previewBytes) continue
    void reader.cancel()
    return { text, isWhole: false }
  }
}
