import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { problemOf } from './record-problems.ts'
import { MAX_RECORD_BYTES, type RecordBlock, RecordFramer } from './records.ts'
import { anyDocument, cut, cuts } from './testing/documents.ts'

function frame(chunks: readonly Buffer[], ...options: ConstructorParameters<typeof RecordFramer>): RecordBlock[] {
  const framer = new RecordFramer(...options)
  return [...chunks.flatMap((chunk) => framer.push(chunk)), ...framer.end()]
}

/** Where records end and what is wrong with them: what may not depend on the chunks. */
function records(blocks: readonly RecordBlock[]): string[] {
  return blocks.flatMap((block) =>
    Array.from(block.recordEnds, (end, record) => `${end} ${problemOf(block, record) ?? 'well-formed'}`),
  )
}

/** The same by regular expressions over the whole document. */
function expectedRecords(document: Buffer, maxRecordBytes: number): string[] {
  const text = document.toString('latin1')
  const field = '(?:"(?:[^"]|"")*"|[^",\\n][^,\\n]*|)'
  const blankLine = /\r?\n/y
  const record = new RegExp(`${field}(?:,${field})*(?:\\r?\\n|$)`, 'y')
  const line = /[^\n]*\n?/y
  const outsideQuotes = new RegExp(`^(?:${field},)*(?:[^",\\n][^,\\n]*|)$`)
  const endOf = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at
    return pattern.test(text) ? pattern.lastIndex : undefined
  }
  const isOver = (at: number, end: number) => end - at - (text[end - 1] === '\n' ? 1 : 0) > maxRecordBytes

  const found: string[] = []
  for (let at = 0; at < text.length; ) {
    const blankEnd = endOf(blankLine, at)
    const recordEnd = endOf(record, at)
    const lineEnd = endOf(line, at) ?? text.length
    const limit = at + maxRecordBytes + 1
    if (blankEnd !== undefined) {
      at = blankEnd
    } else if (recordEnd !== undefined && !isOver(at, recordEnd)) {
      at = recordEnd
      found.push(`${at} well-formed`)
    } else if (isOver(at, lineEnd)) {
      at = lineEnd
      found.push(`${at} too long`)
    } else if (limit <= text.length && outsideQuotes.test(text.slice(at, limit))) {
      at = endOf(line, limit) ?? text.length
      found.push(`${at} too long`)
    } else {
      at = lineEnd
      found.push(`${at} unclosed quote`)
    }
  }
  return found
}

describe('RecordFramer', () => {
  test.each([
    ['LF', 'a,b\nc,d\n', ['4 well-formed', '8 well-formed']],
    ['CRLF', 'a,b\r\nc,d\r\n', ['5 well-formed', '10 well-formed']],
    ['a last line without line break', 'a\nb', ['2 well-formed', '3 well-formed']],
    ['a quoted last value without line break', 'a\n"b"', ['2 well-formed', '5 well-formed']],
    ['blank lines', '\n\r\na\n\n\nb\n\n', ['5 well-formed', '9 well-formed']],
    ['a line of empty values', ',\n', ['2 well-formed']],
    ['an empty quoted value', '""\n', ['3 well-formed']],
    ['a lone CR as data', 'a\rb\n\r', ['4 well-formed', '5 well-formed']],
    ['two CR before LF', '\r\r\n', ['3 well-formed']],
    ['quoted line breaks', '"a\r\nb\n",c\nd\n', ['10 well-formed', '12 well-formed']],
    ['doubled quotes', '"a""",b\n', ['8 well-formed']],
    ['a quote inside an unquoted value', 'a"b,c"\nd\n', ['7 well-formed', '9 well-formed']],
    ['a space before a quote', ' "a\n"b\n', ['4 well-formed', '7 unclosed quote']],
    ['a quote that is never closed', 'a,"b\nc\n', ['5 unclosed quote', '7 well-formed']],
    ['something behind a closing quote', '"a"b,c\nd\n', ['7 unclosed quote', '9 well-formed']],
    ['a lone CR behind a closing quote', '"a"\rb\n', ['6 unclosed quote']],
    ['the end behind a closing quote and CR', '"a"\r', ['4 unclosed quote']],
    ['a value broken on a later line', '"a\nb"c\nd\n', ['3 unclosed quote', '7 well-formed', '9 well-formed']],
    ['nothing', '', []],
  ])('frames %s', (_, text, expected) => {
    expect(records(frame([Buffer.from(text)]))).toEqual(expected)
  })

  test('offsets count from the position at which the bytes begin', () => {
    expect(records(frame([Buffer.from('a\nb\n')], 100))).toEqual(['102 well-formed', '104 well-formed'])
  })

  test.each([4, 12, MAX_RECORD_BYTES])(
    'any document, cut into any chunks, has the records of the grammar, with a limit of %i bytes',
    (maxRecordBytes) => {
      fc.assert(
        fc.property(anyDocument, cuts, (document, shares) => {
          const found = records(frame(cut(document, shares), 0, maxRecordBytes))
          expect(found).toEqual(expectedRecords(document, maxRecordBytes))
        }),
        { numRuns: 3000 },
      )
    },
  )

  test('the blocks of any document are the document: no byte is lost or given twice', () => {
    fc.assert(
      fc.property(anyDocument, cuts, (document, shares) => {
        const blocks = frame(cut(document, shares))
        expect(Buffer.concat(blocks.map(({ bytes }) => bytes))).toEqual(document)
        expect([0, ...blocks.map(({ end }) => end)]).toEqual([...blocks.map(({ start }) => start), document.length])
      }),
      { numRuns: 1000 },
    )
  })
})

describe('a record over the size limit', () => {
  const full = Buffer.alloc(MAX_RECORD_BYTES, 'x')
  const lines = (...parts: (string | Buffer)[]) => Buffer.concat(parts.map((part) => Buffer.from(part)))
  const whole = [[], [0.5], [0.1, 0.999999], Array.from({ length: 40 }, (_, index) => index / 40)]

  test.each(whole)('is skipped up to its line break, with its first bytes kept', (...shares) => {
    const document = lines('a\n', full, 'y\nb\n')
    const blocks = frame(cut(document, shares))
    expect(records(blocks)).toEqual([
      '2 well-formed',
      `${MAX_RECORD_BYTES + 4} too long`,
      `${document.length} well-formed`,
    ])
    expect(blocks.find((block) => problemOf(block, 0) === 'too long')).toMatchObject({
      start: 2,
      bytes: full.subarray(0, 1024),
    })
  })

  test('is not one that just fits', () => {
    expect(records(frame([lines(full, '\na\n')]))).toEqual([
      `${MAX_RECORD_BYTES + 1} well-formed`,
      `${MAX_RECORD_BYTES + 3} well-formed`,
    ])
  })

  test('may be the last line, without line break', () => {
    expect(records(frame([lines('a\n', full, 'y')]))).toEqual(['2 well-formed', `${MAX_RECORD_BYTES + 3} too long`])
  })

  test('is too long too where its first line has an open quote', () => {
    expect(records(frame([lines('"', full, '\na\n')]))).toEqual([
      `${MAX_RECORD_BYTES + 2} too long`,
      `${MAX_RECORD_BYTES + 4} well-formed`,
    ])
  })

  test.each(whole)(
    'within quotes that span lines is one malformed line, and the next line is a record',
    (...shares) => {
      const document = lines('"a\n', full, '\n"\nb\n')
      expect(records(frame(cut(document, shares)))).toEqual([
        '3 unclosed quote',
        `${MAX_RECORD_BYTES + 4} well-formed`,
        // The quote that was to close the value opens one now.
        `${MAX_RECORD_BYTES + 6} unclosed quote`,
        `${document.length} well-formed`,
      ])
    },
  )

  test('behind quotes that were closed is skipped up to the next line break', () => {
    const document = lines('"a\nb",', full, '\nc\n')
    expect(records(frame(cut(document, [0.3])))).toEqual([
      `${document.length - 2} too long`,
      `${document.length} well-formed`,
    ])
  })

  test('that ends with the file leaves the state of its quotes to no line but those that it passed', () => {
    const document = lines('"\n', full.subarray(4), '\n,"')
    expect(document.length).toBe(MAX_RECORD_BYTES + 1)
    // The last chunk is shorter than what is pending, so all is looked at when the end is known.
    expect(records(frame(cut(document, [0.6])))).toEqual([
      '2 unclosed quote',
      `${document.length - 2} well-formed`,
      `${document.length} unclosed quote`,
    ])
  })

  test('within quotes does not take the next line with it, whose quotes close within its own limit', () => {
    const document = lines('a,"\nb","\n', full.subarray(8), '"\nc\n')
    expect(records(frame(cut(document, [0.4])))).toEqual([
      '4 unclosed quote',
      `${document.length - 2} well-formed`,
      `${document.length} well-formed`,
    ])
  })
})

describe('time is linear where each line closes a quote and opens another', () => {
  test.each([
    ['to the end', Buffer.from('a","\n'.repeat(400_000))],
    ['until one breaks, again and again', Buffer.from(`${'a","\n'.repeat(100_000)}"x\n`.repeat(4))],
  ])('%s', (_, document) => {
    const shares = Array.from({ length: 64 }, (_, index) => index / 64)
    const blocks = frame(cut(document, shares))
    const lines = document.toString('latin1').trimEnd().split('\n').length
    expect(blocks.at(-1)?.end).toBe(document.length)
    expect(records(blocks).length).toBeGreaterThan(0.99 * lines)
  })
})
