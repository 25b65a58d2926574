/** Number of bytes that are compared one by one before `indexOf` is called, because the call takes longer. */
const nearBytes = 8

/**
 * Returns the first offset of a byte, at or after `from`; -1 if there is none. Faster than `indexOf` if the byte is
 * near.
 */
export function findByte(data: Buffer, byte: number, from: number): number {
  const near = Math.min(from + nearBytes, data.length)
  for (let at = from; at < near; at++) if (data[at] === byte) return at
  return near === data.length ? -1 : data.indexOf(byte, near)
}
