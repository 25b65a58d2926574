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

/**
 * Returns the rank of a UTF-16 code unit. Surrogates, which encode characters above U+FFFF, rank after all other units.
 */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit <= 0xdfff ? unit + 0x2000 : unit - 0x800
}
