/**
 * Encodes a `text[]` parameter in Postgres's binary format. For large arrays this is the cheapest form, since neither
 * side escapes or parses an array literal.
 *
 * Accepts strings without NUL, or their UTF-8 bytes; null stands for NULL. Returns the Buffer to pass for `$n::text[]`.
 */
export function encodeTextArray(values: readonly (string | Buffer | null)[]): Buffer {
  let length = headerBytes
  for (const value of values) length += 4 + byteLength(value)
  const buffer = Buffer.allocUnsafe(length)
  let offset = writeArrayHeader(buffer, textOid, values.length)
  for (const value of values) {
    if (value === null) {
      offset = buffer.writeInt32BE(-1, offset)
      continue
    }
    const start = offset + 4
    const written = typeof value === 'string' ? buffer.write(value, start, 'utf8') : value.copy(buffer, start)
    buffer.writeInt32BE(written, offset)
    offset = start + written
  }
  return buffer
}

/** OIDs of the types that elements may have. An extension's type has another OID in each database. */
export const textOid = 25
export const uuidOid = 2950

const headerBytes = 20

/**
 * Writes the header of a one-dimensional array parameter in Postgres's binary format to the start of `buffer`, 20
 * bytes. The caller writes the elements after it. Each element is its length in four bytes, big-endian, and its bytes.
 * The length -1 stands for NULL.
 *
 * Returns the offset after the header.
 */
export function writeArrayHeader(buffer: Buffer, elementOid: number, count: number): number {
  // Postgres also accepts one dimension of length 0, so an empty array needs no case of its own.
  buffer.writeInt32BE(1, 0) // dimensions
  buffer.writeInt32BE(1, 4) // may hold nulls
  buffer.writeInt32BE(elementOid, 8)
  buffer.writeInt32BE(count, 12)
  return buffer.writeInt32BE(1, 16) // lower bound
}

function byteLength(value: string | Buffer | null): number {
  if (value === null) return 0
  return typeof value === 'string' ? Buffer.byteLength(value, 'utf8') : value.length
}
