/**
 * A `text[]` parameter in Postgres's binary format, so that neither side escapes or parses an array literal: for large
 * arrays that is the cheapest way in.
 *
 * Takes strings (without NUL) or their UTF-8 bytes; null is NULL. Gives the Buffer to pass where the SQL says `::text[]`.
 */
export function encodeTextArray(values: readonly (string | Buffer | null)[]): Buffer {
  let length = 20
  for (const value of values) length += 4 + byteLength(value)
  const buffer = Buffer.allocUnsafe(length)
  buffer.writeInt32BE(values.length === 0 ? 0 : 1, 0) // dimensions
  buffer.writeInt32BE(1, 4) // may hold nulls
  buffer.writeInt32BE(textOid, 8)
  if (values.length === 0) return buffer.subarray(0, 12)
  buffer.writeInt32BE(values.length, 12)
  buffer.writeInt32BE(1, 16) // lower bound
  let offset = 20
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

const textOid = 25

function byteLength(value: string | Buffer | null): number {
  if (value === null) return 0
  return typeof value === 'string' ? Buffer.byteLength(value, 'utf8') : value.length
}
