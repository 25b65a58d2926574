import { cr, lf, quote } from './special-bytes.ts'

/** Returns the offset of the first byte that is no CR, at or after `from`. */
export function pastCrs(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at] === cr) at++
  return at
}

/**
 * Returns the offset at which a line's content ends: before LF and all CRs directly before it, or before the CRs at the
 * end of the file (design.md §3, CSV dialect). Accepts the offsets of the line's start and end.
 */
export function contentEnd(bytes: Uint8Array, start: number, lineEnd: number): number {
  let end = bytes[lineEnd - 1] === lf ? lineEnd - 1 : lineEnd
  while (end > start && bytes[end - 1] === cr) end--
  return end
}

/**
 * Returns the offset after the empty values with which a line begins, and after CRs that follow them. If every value is
 * empty, it is the offset of the line's LF or of the end of the file.
 */
export function pastEmptyValues(bytes: Uint8Array, start: number, separator: number): number {
  let at = start
  for (;;) {
    if (bytes[at] === quote && bytes[at + 1] === quote) at += 2
    if (bytes[at] !== separator) return pastCrs(bytes, at)
    at++
  }
}
