/** The bytes with a meaning in a CSV file (design.md §3, CSV dialect). */
export const comma = 0x2c
export const quote = 0x22
export const cr = 0x0d
export const lf = 0x0a

/** UTF-8 byte order mark. */
export const byteOrderMark = Uint8Array.of(0xef, 0xbb, 0xbf)
