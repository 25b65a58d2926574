const zero = 0x30
const nine = 0x39

/** Whether bytes are ASCII digits, at least one. */
export function areDigits(source: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = source[at] ?? 0
    if (byte < zero || byte > nine) return false
  }
  return end > start
}

/** Returns the number that two ASCII digits spell; NaN if one of the two bytes is no digit. */
export function twoDigits(source: Buffer, at: number): number {
  const tens = (source[at] ?? 0) - zero
  const ones = (source[at + 1] ?? 0) - zero
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

/** Writes a number below 100 as two ASCII digits. */
export function writeTwoDigits(target: Buffer, at: number, number: number): void {
  target[at] = zero + Math.floor(number / 10)
  target[at + 1] = zero + (number % 10)
}
