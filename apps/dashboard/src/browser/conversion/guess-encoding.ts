import { decodeStrictly, type Encoding } from './encodings.ts'

/** Hints about the encoding of a file besides its bytes. */
export interface GuessHints {
  /** The languages of the browser, the preferred one first, such as `de-CH`. */
  languages: readonly string[]
  /** Whether lines end with CR alone, as Excel writes a "CSV (Macintosh)". */
  hasMacLines: boolean
}

/**
 * The encoding that Windows and Excel use for files without a byte order mark. Languages not listed use Windows-1252.
 */
const encodingOfLanguage: Readonly<Record<string, Encoding>> = {
  ja: 'shift_jis',
  zh: 'gb18030',
  ko: 'euc-kr',
  ...languages('windows-1250', ['bs', 'cs', 'hr', 'hu', 'pl', 'ro', 'sk', 'sl', 'sq']),
  ...languages('windows-1251', ['be', 'bg', 'kk', 'mk', 'ru', 'sr', 'uk']),
  ...languages('windows-1254', ['az', 'tr']),
  ...languages('windows-1256', ['ar', 'fa', 'ur']),
  ...languages('windows-1257', ['et', 'lt', 'lv']),
  el: 'windows-1253',
  he: 'windows-1255',
  vi: 'windows-1258',
  th: 'windows-874',
}

function languages(encoding: Encoding, names: readonly string[]): Record<string, Encoding> {
  return Object.fromEntries(names.map((name) => [name, encoding]))
}

/**
 * Guesses the encoding of bytes that have no byte order mark and are not UTF-8. The guess is only a proposal: a person
 * sees it with a preview of the text.
 *
 * The rules, in this order: NUL bytes mean UTF-16; mostly UTF-8 is UTF-8 with damaged bytes; text that reads as
 * Japanese with kana is Shift_JIS; CR alone as line break means Mac OS Roman; then the first language of the browser
 * whose encoding can read the bytes; then Windows-1252, which reads anything.
 */
export function guessEncoding(bytes: Uint8Array, { languages, hasMacLines }: GuessHints): Encoding {
  if (bytes.includes(0)) return hasZerosAtOddOffsets(bytes) ? 'utf-16le' : 'utf-16be'
  if (isMostlyUtf8(bytes)) return 'utf-8'
  if (isJapanese(bytes)) return 'shift_jis'
  if (hasMacLines) return 'macintosh'
  const ofLanguages = languages.map(encodingOf)
  return ofLanguages.find((encoding) => isPlausible(bytes, encoding)) ?? 'windows-1252'
}

function encodingOf(language: string): Encoding {
  if (/^zh-(?:TW|HK|MO|Hant)/i.test(language)) return 'big5'
  return encodingOfLanguage[language.slice(0, 2).toLowerCase()] ?? 'windows-1252'
}

/** Characters of ASCII have their zero at odd offsets in little-endian UTF-16. */
function hasZerosAtOddOffsets(bytes: Uint8Array): boolean {
  let odd = 0
  for (const [offset, byte] of bytes.entries()) if (byte === 0) odd += offset % 2 === 1 ? 1 : -1
  return odd > 0
}

/** Whether more lines beyond ASCII are UTF-8 than are not. */
function isMostlyUtf8(bytes: Uint8Array): boolean {
  let balance = 0
  for (const line of linesOf(bytes)) {
    if (line.every((byte) => byte < 0x80)) continue
    balance += decodeStrictly(line, 'utf-8') === undefined ? -1 : 1
  }
  return balance > 0
}

/**
 * Whether at least a third of the characters beyond ASCII are kana if the bytes are decoded as Shift JIS. Text of other
 * languages hardly ever decodes to so many kana.
 */
function isJapanese(bytes: Uint8Array): boolean {
  const text = decodeWithoutEnds(bytes, 'shift_jis')
  if (text === undefined) return false
  const other = text.match(/[^\0-\x7f]/gu)?.length ?? 0
  const kana = text.match(/[\u3041-\u30fe]/g)?.length ?? 0
  return other > 0 && kana * 3 >= other
}

/**
 * Whether bytes are valid in an encoding and contain no control characters beyond ASCII, which no spreadsheet writes.
 */
function isPlausible(bytes: Uint8Array, encoding: Encoding): boolean {
  const text = decodeWithoutEnds(bytes, encoding)
  return text !== undefined && !/[\x80-\x9f]/.test(text)
}

/** Decodes whole lines only, because the bytes may end within a character. */
function decodeWithoutEnds(bytes: Uint8Array, encoding: Encoding): string | undefined {
  const end = bytes.lastIndexOf(0x0a)
  return decodeStrictly(end === -1 ? bytes : bytes.subarray(0, end), encoding)
}

/** Returns the lines of bytes in an encoding that extends ASCII. CR and LF both end a line. */
export function linesOf(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  let start = 0
  for (let at = 0; at <= bytes.length; at++) {
    if (at < bytes.length && bytes[at] !== 0x0a && bytes[at] !== 0x0d) continue
    if (at > start) lines.push(bytes.subarray(start, at))
    start = at + 1
  }
  return lines
}
