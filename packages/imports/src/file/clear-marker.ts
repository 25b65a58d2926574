/**
 * Whether a cell, `bytes` from `start` to `end`, equals the clear marker, and so removes its key from the profile
 * (second-day.md §2).
 */
export function isClearMarker(marker: Buffer | undefined, bytes: Buffer, start: number, end: number): boolean {
  if (marker === undefined || end - start !== marker.length) return false
  for (let at = 0; at < marker.length; at++) if (bytes[start + at] !== marker[at]) return false
  return true
}
