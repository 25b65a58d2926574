const encoder = new TextEncoder()

/**
 * Returns a text as UTF-8. Browsers free what `encode` returns much later than memory of the script, and a tab that
 * converts a large file would hold most of it.
 */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 3)
  return bytes.slice(0, encoder.encodeInto(text, bytes).written)
}
