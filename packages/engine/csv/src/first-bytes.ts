/**
 * Yields the first bytes of a source, then stops reading, even within an endless row.
 *
 * @example
 * ```ts
 * String(await Array.fromAsync(firstBytes(Readable.from([Buffer.from('abc')]), 2))) // → "ab"
 * ```
 */
export async function* firstBytes(source: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of source) {
    yield chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) return
  }
}
