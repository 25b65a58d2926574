/**
 * Compares two keys by their UTF-8 bytes, the order of S3's listings. Returns a negative number, 0 or a positive
 * number.
 *
 * JavaScript compares UTF-16 units, and would put characters above U+FFFF before U+E000 to U+FFFF.
 */
export function compareKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index += 1) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index))
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** Ranks a unit so that surrogates, with which characters above U+FFFF begin, follow all other units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit <= 0xdfff ? unit + 0x2000 : unit - 0x800
}
