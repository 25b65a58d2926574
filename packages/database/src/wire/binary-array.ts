/**
 * A `text[]` parameter in Postgres's binary format, so that neither side escapes or parses an array literal: for large
 * arrays that is the cheapest way in.
 *
 * Takes strings (without NUL) or their UTF-8 bytes; null is NULL. Gives the Buffer to pass where the SQL says `::text[]`.
 */
export function encodeTextArray(values: readonly (string | Buffer | null)[]): Buffer {
  let length = headerBytes
  for (const value of values) length += 4 + byteLength(value)
  const buffer = Buffer.allocUnsafe(length)
  let offset = writeArrayHeader(buffer, 'text', values.length)
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

/** Types of elements by their OID in Postgres. */
const elementTypes = { text: 25, uuid: 2950 }

const headerBytes = 20

/**
 * Writes what an array parameter of one dimension begins with in Postgres's binary format, 20 bytes. Behind it come the
 * elements: the length of each, four bytes, most significant first, -1 for NULL; then its bytes.
 *
 * Takes where to write it, at the start. Gives the offset behind it.
 */
export function writeArrayHeader(buffer: Buffer, type: keyof typeof elementTypes, count: number): number {
  // No dimension at all would be the shorter empty array, but one without elements is taken as well.
  buffer.writeInt32BE(1, 0) // dimensions
  buffer.writeInt32BE(1, 4) // may hold nulls
  buffer.writeInt32BE(elementTypes[type], 8)
  buffer.writeInt32BE(count, 12)
  return buffer.writeInt32BE(1, 16) // lower bound
}

function byteLength(value: string | Buffer | null): number {
  if (value === null) return 0
  return typeof value === 'string' ? Buffer.byteLength(value, 'utf8') : value.length
}
