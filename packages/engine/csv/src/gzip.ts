const magic = Buffer.from([0x1f, 0x8b])

/** Number of bytes that {@link isGzip} needs. */
export const gzipMagicBytes = magic.length

/**
 * Whether a file is compressed with gzip, judged by its first bytes. No CSV file begins with these bytes
 * (design.md §3, CSV dialect).
 *
 * @example
 * ```ts
 * isGzip(gzipSync('user_id\n')) // → true
 * isGzip(Buffer.from('user_id\n')) // → false
 * ```
 */
export function isGzip(start: Buffer): boolean {
  return start.subarray(0, gzipMagicBytes).equals(magic)
}
