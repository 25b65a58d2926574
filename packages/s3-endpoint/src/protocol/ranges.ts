/** A part of an object in bytes, both ends counted from 0 and included. */
export type ByteRange = { start: number; end: number }

/**
 * Reads a Range header for an object of `size` bytes.
 *
 * Gives undefined for the whole object: without a header, and as in S3 for several ranges or one that isn't
 * understood.
 * Gives 'unsatisfiable' where the range begins behind the last byte.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const found = /^bytes=(\d{0,18})-(\d{0,18})$/.exec(header?.trim() ?? '')
  const [, first = '', last = ''] = found ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
