const magic = Buffer.from([0x1f, 0x8b])

/** Bytes that {@link isGzip} takes to tell. */
export const gzipMagicBytes = magic.length

/** Whether a file is compressed with gzip, by its first bytes, which no CSV file can have (design.md §3, CSV dialect). */
export function isGzip(start: Buffer): boolean {
  return start.subarray(0, gzipMagicBytes).equals(magic)
}
