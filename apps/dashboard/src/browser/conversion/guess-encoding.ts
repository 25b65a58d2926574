import { decodeStrictly, type Encoding } from './encodings.ts'

/** Hints about the encoding of a file besides its bytes. */
export interface GuessHints {
  /** The languages of the browser, the preferred one first, such as `de-CH`. */
  languages: readonly string[]
  /** Whether lines end with CR alone, as Excel writes a "CSV (Macintosh)". */
  hasMacLines: boolean
  /** Whether most lines beyond ASCII of the whole file are UTF-8. */
  isMostlyUtf8: boolean
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
 * Guesses the encoding of lines that are not UTF-8, of a file without a byte order mark. The guess is only a proposal:
 * a person sees it with a preview of the text.
 *
 * The rules, in this order: zeros in half of many characters mean UTF-16; mostly UTF-8 is UTF-8 with damaged bytes;
 * escape sequences mean ISO-2022-JP; text that reads as Japanese with kana is Shift_JIS; CR alone as line break means
 * Mac OS Roman; then the first language of the browser whose encoding can read the bytes; then Windows-1252, which
 * reads anything, or ISO 8859-15 if it has the euro sign there.
 */
export function guessEncoding(bytes: Uint8Array, { languages, hasMacLines, isMostlyUtf8 }: GuessHints): Encoding {
  const utf16 = utf16Of(bytes)
  if (utf16 !== undefined) return utf16
  if (isMostlyUtf8) return 'utf-8'
  if (isIso2022(bytes)) return 'iso-2022-jp'
  if (isJapanese(bytes)) return 'shift_jis'
  if (hasMacLines) return 'macintosh'
  const ofLanguages = languages.map(encodingOf)
  const found = ofLanguages.find((encoding) => isPlausible(bytes, encoding)) ?? 'windows-1252'
  return found === 'windows-1252' && hasEuroSign(bytes) ? 'iso-8859-15' : found
}

/** Whether bytes have no letter of Windows-1252 alone, and a currency sign that nobody writes there. */
function hasEuroSign(bytes: Uint8Array): boolean {
  return bytes.includes(0xa4) && !bytes.some((byte) => byte >= 0x80 && byte < 0xa0)
}

function encodingOf(language: string): Encoding {
  if (/^zh-(?:TW|HK|MO|Hant)/i.test(language)) return 'big5'
  return encodingOfLanguage[language.slice(0, 2).toLowerCase()] ?? 'windows-1252'
}

/**
 * Returns the form of UTF-16 whose zeros the bytes have; undefined if there are too few for one. Characters of ASCII
 * have their zero at odd offsets in little-endian UTF-16, and hardly any at even ones. A few NULs make no UTF-16.
 */
export function utf16Of(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const isZero = (remainder: number) => (byte: number, at: number) => byte === 0 && at % 2 === remainder
  const [even, odd] = [bytes.filter(isZero(0)).length, bytes.filter(isZero(1)).length]
  if (Math.max(even, odd) * 16 < bytes.length || bytes.length < 2) return undefined
  if (odd > even * 8) return 'utf-16le'
  return even > odd * 8 ? 'utf-16be' : undefined
}

/** Whether bytes have ESC $, with which ISO-2022-JP begins kanji and kana. Its bytes are all ASCII. */
function isIso2022(bytes: Uint8Array): boolean {
  const hasEscape = bytes.some((byte, at) => byte === 0x1b && bytes[at + 1] === 0x24)
  return hasEscape && decodeWithoutEnds(bytes, 'iso-2022-jp') !== undefined
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
