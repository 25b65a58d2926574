const ZERO = 0x30
const NINE = 0x39

/** Whether bytes are ASCII digits, one at least. */
export function areDigits(source: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = source[at] ?? 0
    if (byte < ZERO || byte > NINE) return false
  }
  return end > start
}

/** The number that two ASCII digits say; NaN where they are none. */
export function twoDigits(source: Buffer, at: number): number {
  const tens = (source[at] ?? 0) - ZERO
  const ones = (source[at + 1] ?? 0) - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

/** Writes a number below 100 as two ASCII digits. */
export function writeTwoDigits(target: Buffer, at: number, number: number): void {
  target[at] = ZERO + Math.floor(number / 10)
  target[at + 1] = ZERO + (number % 10)
}
