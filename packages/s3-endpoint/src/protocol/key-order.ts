/**
 * Compares two keys by their UTF-8 bytes, the order of S3's listings. Gives a number below, at or above 0.
 *
 * JavaScript's own order is that of UTF-16 units: it puts characters beyond U+FFFF before U+E000 to U+FFFF.
 */
export function compareKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index += 1) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index))
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** Moves the surrogates, with which characters beyond U+FFFF begin, behind all other units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit <= 0xdfff ? unit + 0x2000 : unit - 0x800
}
