/** A range of an object's bytes. Both ends are inclusive and counted from 0. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * Reads a Range header for an object of `size` bytes.
 *
 * Returns undefined, which means the whole object, if there is no header. As in S3, several ranges and unreadable
 * ranges also mean the whole object. Returns 'unsatisfiable' if the range begins after the last byte.
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
