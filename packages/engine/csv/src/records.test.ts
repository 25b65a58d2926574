import { limits } from '@sluice/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { problemOf } from './record-problems.ts'
import { type RecordBlock, RecordFramer } from './records.ts'
import { anyDocument, cut, cuts } from './testing/documents.ts'

const { recordBytes } = limits

function frame(chunks: readonly Buffer[], ...options: ConstructorParameters<typeof RecordFramer>): RecordBlock[] {
  const framer = new RecordFramer(...options)
  return [...chunks.flatMap((chunk) => framer.push(chunk)), ...framer.end()]
}

/** Returns the end and the problem of each record. Neither may depend on how the bytes are cut into chunks. */
function records(blocks: readonly RecordBlock[]): string[] {
  return blocks.flatMap((block) =>
    Array.from(block.rowEnd, (end, record) => `${end} ${problemOf(block, record) ?? 'well-formed'}`),
  )
}

/** Returns what {@link records} must return, found by regular expressions in the whole document. */
function expectedRecords(document: Buffer, maxRecordBytes: number): string[] {
  const text = document.toString('latin1')
  const field = '(?:"(?:[^"]|"")*"|[^",\\n][^,\\n]*|)'
  const blankLine = /(?:"")?(?:,(?:"")?)*(?:\r*\n|\r*$)/y
  const record = new RegExp(`${field}(?:,${field})*(?:\\r*\\n|\\r*$)`, 'y')
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
    if (blankEnd !== undefined && !isOver(at, blankEnd)) {
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

// design.md §3, Width of a file; design.md §3, CSV dialect.
describe('RecordFramer', () => {
  test.each([
    ['LF', 'a,b\nc,d\n', ['4 well-formed', '8 well-formed']],
    ['CRLF', 'a,b\r\nc,d\r\n', ['5 well-formed', '10 well-formed']],
    ['a last line without line break', 'a\nb', ['2 well-formed', '3 well-formed']],
    ['a quoted last value without line break', 'a\n"b"', ['2 well-formed', '5 well-formed']],
    ['blank lines', '\n\r\na\n\n\nb\n\n', ['5 well-formed', '9 well-formed']],
    ['lines of empty values, which are blank', ',\n""\n,"",\r\na\n"",', ['13 well-formed']],
    [
      'lines that begin with empty values',
      ',a\n""""\n"",""x\n',
      ['3 well-formed', '8 well-formed', '15 unclosed quote'],
    ],
    ['a lone CR as data', 'a\rb\n', ['4 well-formed']],
    ['CRs at the end of the file', 'a\n"b"\r\r', ['2 well-formed', '7 well-formed']],
    ['a blank line of CRs at the end of the file', 'a\n\r', ['2 well-formed']],
    ['several CRs before LF', 'a\r\r\n"b"\r\r\r\n\r\r\n', ['4 well-formed', '11 well-formed']],
    ['quoted line breaks', '"a\r\nb\n",c\nd\n', ['10 well-formed', '12 well-formed']],
    ['doubled quotes', '"a""",b\n', ['8 well-formed']],
    ['a quote inside an unquoted value', 'a"b,c"\nd\n', ['7 well-formed', '9 well-formed']],
    ['a space before a quote', ' "a\n"b\n', ['4 well-formed', '7 unclosed quote']],
    ['a quote that is never closed', 'a,"b\nc\n', ['5 unclosed quote', '7 well-formed']],
    ['text after a closing quote', '"a"b,c\nd\n', ['7 unclosed quote', '9 well-formed']],
    ['a lone CR after a closing quote', '"a"\rb\n', ['6 unclosed quote']],
    ['a quoted value before CRs that end no line', '"a"\r\rb\n', ['7 unclosed quote']],
    ['a value broken on a later line', '"a\nb"c\nd\n', ['3 unclosed quote', '7 well-formed', '9 well-formed']],
    ['nothing', '', []],
  ])('frames %s', (_, text, expected) => {
    expect(records(frame([Buffer.from(text)]))).toEqual(expected)
  })

  test('offsets count from the position of the first byte', () => {
    expect(records(frame([Buffer.from('a\nb\n')], 100))).toEqual(['102 well-formed', '104 well-formed'])
  })

  test('frames any number of records of one chunk', () => {
    const lines = Array.from({ length: 20_000 }, (_, line) => (line % 3 === 0 ? '"a"b\n' : `${line}\n`))
    let end = 0
    const expected = lines.map((line, index) => {
      end += line.length
      return `${end} ${index % 3 === 0 ? 'unclosed quote' : 'well-formed'}`
    })
    expect(records(frame([Buffer.from(lines.join(''))]))).toEqual(expected)
  })

  test('names problems only in blocks that have one', () => {
    const blocks = frame(['a\n', '"a"b\n', 'c\n'].map((chunk) => Buffer.from(chunk)))
    expect(blocks.map(({ problems }) => problems !== undefined)).toEqual([false, true, false])
  })

  test('the blocks of any document follow each other from any position, also around records that are too long', () => {
    fc.assert(
      fc.property(anyDocument, cuts, fc.nat(1000), (document, shares, position) => {
        const blocks = frame(cut(document, shares), position, 12)
        expect([position, ...blocks.map(({ end }) => end)]).toEqual([
          ...blocks.map(({ start }) => start),
          position + document.length,
        ])
      }),
      { numRuns: 1000 },
    )
  })

  test.each([4, 12, recordBytes])(
    'any document in any chunks has the records of the grammar, with a limit of %i bytes',
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

  test('the blocks of any document add up to the document: no byte is lost or returned twice', () => {
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
  const full = Buffer.alloc(recordBytes, 'x')
  const lines = (...parts: (string | Buffer)[]) => Buffer.concat(parts.map((part) => Buffer.from(part)))
  const whole = [[], [0.5], [0.1, 0.999999], Array.from({ length: 40 }, (_, index) => index / 40)]

  test.each(whole)('is skipped up to its line break, with its first bytes kept', (...shares) => {
    const document = lines('a\n', full, 'y\nb\n')
    const blocks = frame(cut(document, shares))
    expect(records(blocks)).toEqual(['2 well-formed', `${recordBytes + 4} too long`, `${document.length} well-formed`])
    expect(blocks.find((block) => problemOf(block, 0) === 'too long')).toMatchObject({
      start: 2,
      bytes: full.subarray(0, 1024),
    })
  })

  test('has at least one byte more than the limit', () => {
    expect(records(frame([lines(full, '\na\n')]))).toEqual([
      `${recordBytes + 1} well-formed`,
      `${recordBytes + 3} well-formed`,
    ])
  })

  test('may be the last line without a line break', () => {
    expect(records(frame([lines('a\n', full, 'y')]))).toEqual(['2 well-formed', `${recordBytes + 3} too long`])
  })

  test('is too long even if its first line has an open quote', () => {
    expect(records(frame([lines('"', full, '\na\n')]))).toEqual([
      `${recordBytes + 2} too long`,
      `${recordBytes + 4} well-formed`,
    ])
  })

  test.each(whole)(
    'within quotes that span lines is one malformed line, and the next line is a new record',
    (...shares) => {
      const document = lines('"a\n', full, '\n"\nb\n')
      expect(records(frame(cut(document, shares)))).toEqual([
        '3 unclosed quote',
        `${recordBytes + 4} well-formed`,
        // The quote that was meant to close the value opens a new value.
        `${recordBytes + 6} unclosed quote`,
        `${document.length} well-formed`,
      ])
    },
  )

  test('after closed quotes is skipped up to the next line break', () => {
    const document = lines('"a\nb",', full, '\nc\n')
    expect(records(frame(cut(document, [0.3])))).toEqual([
      `${document.length - 2} too long`,
      `${document.length} well-formed`,
    ])
  })

  test('that ends with the file passes the state of its quotes only to the lines that its scan passed', () => {
    const document = lines('"\n', full.subarray(4), '\n,"')
    expect(document.length).toBe(recordBytes + 1)
    // The last chunk is shorter than the pending bytes, so all bytes are scanned only after the end of the file.
    expect(records(frame(cut(document, [0.6])))).toEqual([
      '2 unclosed quote',
      `${document.length - 2} well-formed`,
      `${document.length} unclosed quote`,
    ])
  })

  test('within quotes does not damage the next line if the quotes of that line close within its own limit', () => {
    const document = lines('a,"\nb","\n', full.subarray(8), '"\nc\n')
    expect(records(frame(cut(document, [0.4])))).toEqual([
      '4 unclosed quote',
      `${document.length - 2} well-formed`,
      `${document.length} well-formed`,
    ])
  })
})
