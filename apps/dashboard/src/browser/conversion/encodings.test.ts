import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeStart, encodingOfMark, encodings } from './encodings.ts'
import { guessEncoding } from './guess-encoding.ts'
import { Utf8Check } from './utf8-check.ts'

const bytes = (...parts: (string | number[])[]) =>
  Uint8Array.from(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
const utf16be = (text: string) => Uint8Array.from(Buffer.from(text, 'utf16le').swap16())

/**
 * A header and rows in Japanese, Chinese, Russian and Western European languages, each in a common encoding of the
 * language.
 */
const japanese = bytes('user_id,name\nu1,', [0x83, 0x5e, 0x83, 0x8d, 0x83, 0x45], '\n') // タロウ
const kanji = bytes('user_id,name\nu1,', [0x8e, 0x52, 0x93, 0x63], '\n') // 山田
const jis = bytes('user_id,name\nu1,', [0x1b, 0x24, 0x42, 0x3b, 0x33, 0x45, 0x44, 0x1b, 0x28, 0x42], '\n') // 山田
const chinese = bytes('user_id,name\nu1,', [0xd6, 0xd0, 0xb9, 0xfa], '\n') // 中国 in GB18030
const russian = bytes('user_id,name\nu1,', [0xc8, 0xe2, 0xe0, 0xed], '\n') // Иван in Windows-1251
const western = bytes('user_id,name\nu1,M', [0xfc], 'ller\nu2,Andr', [0xe9], '\n')

describe('the byte order mark names', () => {
  test.each([
    ['utf-8', [0xef, 0xbb, 0xbf, 0x61]],
    ['utf-16le', [0xff, 0xfe, 0x61, 0]],
    ['utf-16be', [0xfe, 0xff, 0, 0x61]],
    [undefined, [0x61, 0x62]],
    [undefined, [0xef, 0xbb, 0x61]],
    [undefined, [0xef, 0x61, 0xbf]],
    [undefined, [0x61, 0xbb, 0xbf]],
    [undefined, [0xff, 0x61]],
    [undefined, [0x61, 0xfe]],
    [undefined, [0xfe, 0x61]],
    [undefined, [0x61, 0xff]],
    [undefined, []],
  ] as const)('%s', (encoding, start) => {
    expect(encodingOfMark(Uint8Array.from(start))).toBe(encoding)
  })
})

test('the browser knows every encoding that the page offers', () => {
  for (const encoding of encodings) expect(new TextDecoder(encoding).encoding).toBeTruthy()
})

test('the start of a file lacks its mark, and a character that is cut off', () => {
  expect(decodeStart(bytes([0xef, 0xbb, 0xbf], 'aé').subarray(0, 5), 'utf-8', false)).toBe('a')
  expect(decodeStart(bytes('a', [0xe9]), 'utf-8', true)).toBe('a\uFFFD')
})

describe('the guess of a file that is not UTF-8', () => {
  test.each([
    ['western text', western, ['en-US'], 'windows-1252'],
    ['western text in a browser of another language', western, ['de', 'ja'], 'windows-1252'],
    ['Japanese text with kana, whatever the language', japanese, ['en-US'], 'shift_jis'],
    ['Japanese text without kana in a Japanese browser', kanji, ['ja'], 'shift_jis'],
    ['Japanese text with escape sequences', jis, ['en-US'], 'iso-2022-jp'],
    ['Chinese text in a Chinese browser', chinese, ['zh-CN', 'en'], 'gb18030'],
    ['Chinese text in a browser for traditional Chinese', chinese, ['zh-TW'], 'big5'],
    ['Russian text in a Russian browser', russian, ['ru-RU'], 'windows-1251'],
    ['UTF-16 without a mark', Uint8Array.from(Buffer.from('user_id\nü', 'utf16le')), ['ja'], 'utf-16le'],
    ['UTF-16, big-endian, without a mark', utf16be('user_id\nü'), ['en'], 'utf-16be'],
  ] as const)('%s', (_, text, languages, encoding) => {
    expect(guessEncoding(text, { languages, hasMacLines: false, isMostlyUtf8: false })).toBe(encoding)
  })

  test.each([
    ['ko', 'euc-kr'],
    ['zh-Hant-HK', 'big5'],
    ['zh-HK', 'big5'],
    ['ZH', 'gb18030'],
    ['pl', 'windows-1250'],
    ['uk-UA', 'windows-1251'],
    ['el', 'windows-1253'],
    ['TR', 'windows-1254'],
    ['he', 'windows-1255'],
    ['ar-EG', 'windows-1256'],
    ['lt', 'windows-1257'],
    ['vi', 'windows-1258'],
    ['th', 'windows-874'],
    ['xx', 'windows-1252'],
    ['', 'windows-1252'],
  ])('in a browser of the language %j is %s', (language, encoding) => {
    // Two bytes that all of them read.
    const text = bytes('user_id,name\nu1,', [0xc5, 0xcb], '\n')
    expect(guessEncoding(text, { languages: [language], hasMacLines: false, isMostlyUtf8: false })).toBe(encoding)
  })

  test.each([
    ['a control character beyond ASCII', bytes('u1,', [0x83], '\n'), ['pl'], 'windows-1252'],
    ['a character that the end cuts off', bytes('u1,x\n', [0xd6, 0xd0, 0xb9]), ['zh-CN'], 'gb18030'],
    ['two kanji for each kana', bytes([0x83, 0x5e], [0x8e, 0x52, 0x93, 0x63], '\n'), ['en'], 'shift_jis'],
    [
      'three kanji for each kana',
      bytes([0x83, 0x5e], [0x8e, 0x52, 0x93, 0x63, 0x8e, 0x52], '\n'),
      ['en'],
      'windows-1252',
    ],
    ['an escape that begins no Japanese', bytes([0x1b], '[31m', [0xe9], '\n'), ['en'], 'windows-1252'],
    ['an escape of Japanese beside other letters', bytes([0x1b], '$B', [0xe9], '\n'), ['en'], 'windows-1252'],
    ['a NUL in 17 bytes', bytes('\0', [0xe9], 'x'.repeat(15)), ['en'], 'windows-1252'],
    ['a NUL in 16 bytes', bytes('\0', [0xe9], 'x'.repeat(14)), ['en'], 'utf-16be'],
    ['NULs at odd and even offsets', bytes('\0'.repeat(17), [0xe9]), ['en'], 'windows-1252'],
    ['one character of UTF-16', bytes('a\0'), ['en'], 'utf-16le'],
    ['letters that are no Japanese in a Japanese browser', western, ['ja'], 'windows-1252'],
    ['a sign of another language at the place of the euro sign', bytes([0xa4], '\n'), ['pl'], 'windows-1250'],
    ['one line that ends within a character', bytes('u1,', [0xd6]), ['zh-CN'], 'windows-1252'],
    ['a NUL alone', bytes('\0'), ['en'], 'windows-1252'],
  ] as const)('with %s', (_, text, languages, encoding) => {
    expect(guessEncoding(text, { languages, hasMacLines: false, isMostlyUtf8: false })).toBe(encoding)
  })

  test('is UTF-8 if most lines are, and UTF-16 whatever the lines', () => {
    const hints = { languages: ['ja'], hasMacLines: true, isMostlyUtf8: true }
    expect(guessEncoding(western, hints)).toBe('utf-8')
    expect(guessEncoding(utf16be('user_id\nü'), hints)).toBe('utf-16be')
  })

  test('is ISO 8859-15 if its place of the euro sign is used, and nothing that only Windows-1252 has', () => {
    const guess = (...parts: (string | number[])[]) =>
      guessEncoding(bytes(...parts), { languages: ['de'], hasMacLines: false, isMostlyUtf8: false })
    expect(guess('u1;5 ', [0xa4], '\n')).toBe('iso-8859-15')
    expect(guess('u1;5', [0xa0, 0xa4], '\n')).toBe('iso-8859-15')
    expect(guess('u1;5 ', [0x80], ' ', [0xa4], '\n')).toBe('windows-1252')
  })

  test('is Mac OS Roman if lines end with CR alone', () => {
    const text = bytes('user_id,name\ru1,M', [0x9f], 'ller\r')
    expect(guessEncoding(text, { languages: ['de'], hasMacLines: true, isMostlyUtf8: false })).toBe('macintosh')
  })
})

describe('the check for UTF-8', () => {
  const check = (chunks: readonly Uint8Array[]) => {
    const found = new Utf8Check()
    for (const chunk of chunks) found.push(chunk)
    return found.end()
  }

  test('accepts UTF-8 wherever it is cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(), (text, at) => {
        fc.pre(text.isWellFormed() && !text.includes('\0'))
        const all = bytes(text)
        const cut = at % (all.length + 1)
        expect(check([all.subarray(0, cut), all.subarray(cut)])).toBeUndefined()
      }),
    )
  })

  test('accepts the first and the last character of each length', () => {
    const all = '\u007f\u0080\u00a3\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}'
    for (const character of all) expect(check([bytes(character)]), character).toBeUndefined()
  })

  test.each([
    ['a byte that continues nothing', [0x80]],
    ['a byte that begins nothing', [0xff]],
    ['a character beyond the last one', [0xf4, 0x90, 0x80, 0x80]],
    ['a character far beyond it', [0xf5, 0x80, 0x80, 0x80]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a long form of ASCII', [0xc1, 0xbf]],
    ['a long form of two bytes', [0xe0, 0x9f, 0xbf]],
    ['a long form of three bytes', [0xf0, 0x8f, 0xbf, 0xbf]],
    ['a character without its last byte', [0xe2, 0x82, 0x61]],
  ])('does not accept %s', (_, line) => {
    expect(check([bytes(line, '\n')])).toBeDefined()
  })

  test('takes the same lines for UTF-8 as a decoder', () => {
    const byte = fc.oneof(
      fc.nat(255),
      fc.constantFrom(0xe0, 0xed, 0xf0, 0xf4, 0xc3, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf),
    )
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 12 }), fc.nat(12), (line, cut) => {
        fc.pre(!line.some((each) => [0, 0x0a, 0x0d, 0x1b].includes(each)))
        const all = Uint8Array.from(line)
        expect(check([all.subarray(0, cut), all.subarray(cut)]) === undefined).toBe(isUtf8(all))
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    ['in the first chunk', [western], 'u1,M\uFFFDller'],
    ['that is the header of a large file', [bytes('u1,M', [0xfc], 'ller\n', 'x\n'.repeat(5_000))], 'u1,M\uFFFDller'],
    ['after megabytes of ASCII', [bytes('x\n'.repeat(50_000)), western], 'u1,M\uFFFDller'],
    ['in a line that begins in the preceding chunk', [bytes('a\nu1,M'), bytes([0xfc], 'ller\n')], 'u1,M\uFFFDller'],
    ['after a line of ASCII that two chunks have', [bytes('abc'), bytes('def\nM', [0xfc], '\n')], 'M\uFFFD'],
    ['in a character that the end of the file cuts off', [bytes('a\nb', [0xc3])], 'b\uFFFD'],
  ])('finds the first other line %s', (_, chunks, line) => {
    expect(new TextDecoder().decode(check(chunks)?.lines).split('\n')[0]).toBe(line)
  })

  test('keeps the first lines of 64 KiB, cut off, whether lines end with LF or CR', () => {
    const other = bytes('u1,M', [0xfc], 'ller\r')
    const found = check(Array.from({ length: 10_000 }, () => other))
    expect(found?.lines.length).toBeLessThanOrEqual(65_537)
    expect(found?.lines.length).toBeGreaterThan(65_500)
    expect(new TextDecoder('windows-1252').decode(found?.lines.subarray(0, 20))).toBe('u1,Müller\nu1,Müller\n')
    const long = check([bytes([0xfc], 'x'.repeat(100_000)), bytes('y\n')])
    expect(long?.lines).toHaveLength(65_537)
  })

  test('needs no further bytes of UTF-16, and all of another file', () => {
    const found = new Utf8Check()
    expect([found.push(bytes()), found.push(bytes('a\n')), found.push(western)]).toEqual([true, true, true])
    const text = Uint8Array.from(Buffer.from('user_id\tname\n'.repeat(10_000), 'utf16le'))
    const wide = new Utf8Check()
    expect([wide.push(bytes()), wide.push(text), wide.push(western)]).toEqual([true, false, false])
    expect(wide.end()).toEqual({
      lines: text.subarray(0, 65_536),
      examples: text.subarray(0, 65_536),
      isMostlyUtf8: false,
    })
  })

  test('does not accept UTF-16, which is made of ASCII and NUL', () => {
    expect(check([Uint8Array.from(Buffer.from('user_id\tname\n', 'utf16le'))])).toMatchObject({ isMostlyUtf8: false })
  })

  test('finds ISO-2022-JP, whose bytes are all ASCII, wherever its escape sequence is cut', () => {
    const line = bytes('u1,', jis.subarray(16) as unknown as number[])
    for (let cut = 0; cut <= line.length; cut++) {
      const found = check([bytes('user_id\n'), line.subarray(0, cut), line.subarray(cut)])
      expect(new TextDecoder('iso-2022-jp').decode(found?.lines), `cut at ${cut}`).toBe('u1,山田\n')
    }
    // Colours of a terminal are no Japanese.
    expect(check([bytes('a,', [0x1b], '[31mred', [0x1b], '$\n')])).toBeUndefined()
    for (const other of ['(B', '$A', '$$B', '@', 'B'])
      expect(check([bytes([0x1b], other, '\n')]), other).toBeUndefined()
    expect(check([bytes([0x1b], '$@;3', [0x1b], '(B\n')])).toBeDefined()
  })

  test('counts the lines of the whole file, before the first other line and after it', () => {
    const good = bytes('user_id,name\n', 'u1,Zoë\n'.repeat(200))
    expect(check([good, western])).toMatchObject({ isMostlyUtf8: true })
    expect(check([western, good])).toMatchObject({ isMostlyUtf8: true })
    expect(check([bytes('é\n'), western])).toMatchObject({ isMostlyUtf8: false })
    expect(check([bytes('é\n'), bytes([0xfc], '\n')])).toMatchObject({ isMostlyUtf8: false })
    const { examples } = check([good, western]) ?? {}
    expect(new TextDecoder().decode(examples).split('\n').slice(0, 3)).toEqual(['u1,Zoë', 'u1,Zoë', 'u1,M\uFFFDller'])
  })

  test('takes a file with a few NULs for UTF-8: the import reports the rows', () => {
    expect(check([bytes('user_id,v\n', 'u1,x\n'.repeat(7), 'u7,x\0\n')])).toBeUndefined()
  })

  test('accepts lines of megabytes, wherever they are cut', () => {
    const line = bytes('é'.repeat(2 ** 20))
    expect(check([line.subarray(0, 2 ** 20 + 1), line.subarray(2 ** 20 + 1)])).toBeUndefined()
  })
})
