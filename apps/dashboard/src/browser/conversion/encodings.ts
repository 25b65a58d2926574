/** The encodings that a visitor may choose, by their labels for `TextDecoder`. */
export const encodingNames = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16, little-endian',
  'utf-16be': 'UTF-16, big-endian',
  'windows-1252': 'Windows-1252, Western Europe',
  'iso-8859-15': 'ISO 8859-15, Western Europe',
  'windows-1250': 'Windows-1250, Central Europe',
  'windows-1251': 'Windows-1251, Cyrillic',
  'windows-1253': 'Windows-1253, Greek',
  'windows-1254': 'Windows-1254, Turkish',
  'windows-1255': 'Windows-1255, Hebrew',
  'windows-1256': 'Windows-1256, Arabic',
  'windows-1257': 'Windows-1257, Baltic',
  'windows-1258': 'Windows-1258, Vietnamese',
  'windows-874': 'Windows-874, Thai',
  macintosh: 'Mac OS Roman',
  'koi8-r': 'KOI8-R, Cyrillic',
  ibm866: 'IBM866, Cyrillic',
  shift_jis: 'Shift_JIS, Japanese',
  'euc-jp': 'EUC-JP, Japanese',
  'iso-2022-jp': 'ISO-2022-JP, Japanese',
  gb18030: 'GB18030, Simplified Chinese',
  big5: 'Big5, Traditional Chinese',
  'euc-kr': 'EUC-KR, Korean',
} as const

export type Encoding = keyof typeof encodingNames

export const encodings = Object.keys(encodingNames) as Encoding[]

/** Returns the encoding that the byte order mark at the start of a file names; undefined if there is no mark. */
export function encodingOfMark(start: Uint8Array): Encoding | undefined {
  const [first, second, third] = start
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return undefined
}

/** Decodes bytes, and drops a byte order mark at their start. Returns undefined if they are not of this encoding. */
export function decodeStrictly(bytes: Uint8Array, encoding: Encoding): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Decodes the start of a file, and drops a byte order mark. Omits a character that is cut off at the end, unless the
 * bytes are the whole file. Bytes that are not of this encoding become U+FFFD.
 */
export function decodeStart(bytes: Uint8Array, encoding: Encoding, isWhole: boolean): string {
  return new TextDecoder(encoding).decode(bytes, { stream: !isWhole })
}
