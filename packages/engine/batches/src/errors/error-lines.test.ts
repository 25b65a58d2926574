import { type Cells, cellsOf, errorFileHeader, readHeader, readRows } from '@sluice/csv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ErrorLines } from './error-lines.ts'
import { KeptRows } from './kept-rows.ts'
import { columnProblem, messageOf, type Problem, rowProblem } from './problems.ts'

const tooLong = rowProblem('row is too long')
const tooMany = rowProblem('too many values')

/** Returns a row with these cells as a reader would return it, with commas between the cells and no quotes. */
function rowOf(values: readonly Buffer[]): Cells {
  const ends: number[] = []
  for (const { length } of values) ends.push((ends.at(-1) ?? -1) + 1 + length)
  return {
    bytes: Buffer.concat(values.flatMap((value) => [value, Buffer.from(',')])),
    count: values.length,
    start: Uint32Array.from(ends, (end, index) => end - (values[index]?.length ?? 0)),
    end: Uint32Array.from(ends),
    columns: values.length,
    isWellFormed: true,
  }
}

interface Invalid {
  number: number
  problems: readonly Problem[]
  values: readonly Buffer[]
}

function keep(columns: readonly string[], rows: readonly Invalid[]): KeptRows {
  const kept = new KeptRows(columns)
  for (const { number, problems, values } of rows) kept.add(number, problems, rowOf(values))
  return kept
}

/** Returns the lines that are made of kept rows. */
function linesOf(columns: readonly string[], rows: readonly Invalid[]): Buffer {
  return Buffer.concat([...new ErrorLines(columns).of(keep(columns, rows).content())])
}

const cells = (...values: string[]) => values.map((value) => Buffer.from(value))

// service.md, Error CSV file; design.md §3, Error file's size; design.md §3, Error file.
describe('a row of an error file', () => {
  const columns = ['user_id', 'age', 'plan']
  const ageProblem = columnProblem(1, 'should be integer')

  test.each([
    ['has the message first', [ageProblem], ['u1', 'x', 'gold'], columns, 'age should be integer,u1,x,gold\n'],
    [
      'joins messages',
      [tooMany, columnProblem(0, 'is unregistered user')],
      ['u1'],
      ['user_id'],
      '"too many values, user_id is unregistered user",u1\n',
    ],
    ['has empty values for missing values', [tooLong], ['u1'], columns, 'row is too long,u1,,\n'],
    ['keeps values beyond the columns', [tooMany], ['u1', '1', 'g', 'x', 'y'], columns, 'too many values,u1,1,g,x,y\n'],
    [
      'leaves the uploaded messages out',
      [tooLong],
      ['old', 'u1', '1'],
      ['SERVICE_ERRORS', 'user_id', 'age'],
      'row is too long,u1,1\n',
    ],
    [
      'leaves the uploaded messages out if the row has nothing else',
      [tooLong],
      ['old'],
      ['SERVICE_ERRORS', 'user_id'],
      'row is too long,\n',
    ],
    [
      'quotes values that need quotes',
      [tooLong],
      ['a,b', 'a"b', 'a\nb'],
      columns,
      'row is too long,"a,b","a""b","a\nb"\n',
    ],
    ['quotes the comma of its only value', [tooLong], ['a,b'], ['user_id'], 'row is too long,"a,b"\n'],
    ['quotes CR', [tooLong], ['u1', '1', 'a\r'], columns, 'row is too long,u1,1,"a\r"\n'],
    [
      'leaves white space and formulas as they are',
      [tooLong],
      [' u1 ', '=1+1', '@x'],
      columns,
      'row is too long, u1 ,=1+1,@x\n',
    ],
    [
      'quotes the name of a column',
      [columnProblem(1, 'should be integer')],
      ['u1', 'x'],
      ['user_id', 'a "b"'],
      '"a ""b"" should be integer",u1,x\n',
    ],
  ])('%s', (_, problems, values, given, line) => {
    expect(linesOf(given, [{ number: 1, problems, values: cells(...values) }]).toString()).toBe(line)
  })

  test('keeps the bytes of a value that is not UTF-8', () => {
    const value = Buffer.from([0xe9, 0x22, 0xff])
    expect(linesOf(['user_id'], [{ number: 1, problems: [tooLong], values: [value] }])).toEqual(
      Buffer.concat([Buffer.from('row is too long,'), Buffer.from([0x22, 0xe9, 0x22, 0x22, 0xff, 0x22, 0x0a])]),
    )
  })
})

describe('a message that begins like a formula is text for a spreadsheet, and values stay as they are', () => {
  test.each(['=HYPERLINK(1)', '+1', '-1', '@a', '\ta', '\ra', '\na'])('%j', (name) => {
    const row = { number: 1, problems: [columnProblem(1, 'should be integer')], values: cells('u1', '=1+1') }
    const cell = /[\r\n]/.test(name) ? `"'${name} should be integer"` : `'${name} should be integer`
    expect(linesOf(['user_id', name], [row]).toString()).toBe(`${cell},u1,=1+1\n`)
    expect(keep(['user_id', name], [row]).lineBytes).toBe(cell.length + ',u1,=1+1\n'.length)
  })

  test('also if it is the first of several', () => {
    const problems = [columnProblem(0, 'should be UTF-8'), columnProblem(1, 'should be integer')]
    const line = linesOf(['=a', '=b'], [{ number: 1, problems, values: cells('x', 'y') }]).toString()
    expect(line).toBe(`"'=a should be UTF-8, =b should be integer",x,y\n`)
  })

  test('not if another message comes first', () => {
    const problems = [tooMany, columnProblem(1, 'should be integer')]
    const line = linesOf(['user_id', '=b'], [{ number: 1, problems, values: cells('x', 'y') }]).toString()
    expect(line).toBe('"too many values, =b should be integer",x,y\n')
  })
})

describe('messages of more than 64 KiB', () => {
  const names = Array.from({ length: 97 }, (_, i) => `${String(i).padStart(5, '0')}${'😀'.repeat(250)}`)
  const columns = ['user_id', ...names]
  const problems = names.map((_, index) => columnProblem(index + 1, 'should be integer'))
  const cellOf = async (lines: Buffer) => {
    for await (const block of readRows(sourceOf(lines))) return cellsOf(block, 0)[0]?.toString() ?? ''
    return ''
  }

  test('end with the number of messages that are left out, and names stay whole', async () => {
    const cell = await cellOf(linesOf(columns, [{ number: 1, problems, values: cells('u1') }]))
    expect(Buffer.byteLength(cell)).toBeLessThanOrEqual(64 * 2 ** 10)
    const messages = cell.split(', ')
    expect(messages.at(-1)).toBe(`and ${97 - (messages.length - 1)} more`)
    expect(messages.slice(0, -1)).toEqual(
      problems.slice(0, messages.length - 1).map((each) => messageOf(each, columns)),
    )
    // The next message would not have fitted.
    const next = messageOf(problems[messages.length - 1] ?? 0, columns)
    expect(Buffer.byteLength(cell) + 2 + Buffer.byteLength(next)).toBeGreaterThan(64 * 2 ** 10)
  })

  test.each([65_535, 65_536, 65_537])('are cut only if all messages exceed the limit: %i bytes', async (wanted) => {
    // Each message is a name and 18 bytes. The first names are shortened until all messages together have the wanted
    // length.
    const name = (index: number, length: number) => `${index}`.padEnd(length, 'n')
    const lengths = Array.from({ length: 240 }, () => 255)
    let bytes = 240 * (255 + 18) + 239 * 2
    for (let index = 0; bytes > wanted; index++) {
      const less = Math.min(bytes - wanted, 240)
      lengths[index] = 255 - less
      bytes -= less
    }
    const given = ['user_id', ...lengths.map((length, index) => name(index, length))]
    const all = lengths.map((_, index) => columnProblem(index + 1, 'should be integer'))
    const cell = await cellOf(linesOf(given, [{ number: 1, problems: all, values: cells('u1') }]))
    if (wanted <= 65_536) expect(cell).toBe(all.map((each) => messageOf(each, given)).join(', '))
    else expect(cell).toMatch(/, and \d+ more$/)
    expect(Buffer.byteLength(cell)).toBeLessThanOrEqual(65_536)
  })
})

async function* sourceOf(...chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks
}

describe('any kept rows', () => {
  const anyCell = fc
    .array(fc.oneof(fc.constantFrom(...Buffer.from(',"\r\n ab')), fc.integer({ min: 0, max: 255 })), { maxLength: 8 })
    .map((bytes) => Buffer.from(bytes))
  const longCell = fc.integer({ min: 100, max: 20_000 }).map((length) => Buffer.alloc(length, 'x"'))
  const name = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
    .filter((text) => /^[^\0$]/.test(text) && !text.includes('\0') && text.isWellFormed())
  const table = fc
    .tuple(
      fc.uniqueArray(name, { maxLength: 5 }).filter((names) => !names.includes('user_id')),
      fc.boolean(),
      fc.nat({ max: 6 }),
    )
    .map(([names, isReserved, at]) => {
      const columns = ['user_id', ...names.filter((each) => each !== 'SERVICE_ERRORS')]
      return isReserved ? columns.toSpliced(at, 0, 'SERVICE_ERRORS') : columns
    })
    .chain((columns) => {
      const problem = fc.oneof(
        fc.constantFrom(tooLong, tooMany),
        fc
          .tuple(
            fc.nat({ max: columns.length - 1 }),
            fc.constantFrom('should be UTF-8', 'is unregistered user' as const),
          )
          .map(([column, text]) => columnProblem(column, text)),
      )
      const problems = fc
        .uniqueArray(problem, { minLength: 1, maxLength: 4 })
        .map((some) => some.sort((one, other) => one - other))
      const row = fc.record({
        step: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2 ** 36 })),
        problems,
        values: fc.array(fc.oneof({ weight: 9, arbitrary: anyCell }, { weight: 1, arbitrary: longCell }), {
          minLength: 1,
          maxLength: 8,
        }),
      })
      return fc.record({ columns: fc.constant(columns), rows: fc.array(row, { minLength: 1, maxLength: 8 }) })
    })
    .map(({ columns, rows }) => {
      let number = 0
      const numbered = rows.map(({ step, ...row }) => {
        number += step
        return { ...row, number }
      })
      return { columns, rows: numbered }
    })

  /** Returns the cells of a row in the error file, by the documented rules alone. */
  function expectedCells(columns: readonly string[], { problems, values }: Invalid): string[] {
    const reserved = columns.indexOf('SERVICE_ERRORS')
    const padded = [...values, ...columns.slice(values.length).map(() => Buffer.alloc(0))]
    const messages = problems.map((problem) => messageOf(problem, columns)).join(', ')
    const mark = /^[=+\-@\t\r\n]/.test(messages) ? "'" : ''
    return [
      Buffer.from(mark + messages).toString('latin1'),
      ...padded.filter((_, index) => index !== reserved).map((value) => value.toString('latin1')),
    ]
  }

  test('become lines with their messages and cells, and take `lineBytes` bytes', async () => {
    await fc.assert(
      fc.asyncProperty(table, async ({ columns, rows }) => {
        const lines = linesOf(columns, rows)
        expect(lines).toHaveLength(keep(columns, rows).lineBytes)
        const file = Buffer.concat([errorFileHeader(columns), lines])
        const header = await readHeader(sourceOf(file))
        expect(header.columns).toEqual(['SERVICE_ERRORS', ...columns.filter((each) => each !== 'SERVICE_ERRORS')])
        const source = sourceOf(file.subarray(header.end))
        const blocks = await Array.fromAsync(readRows(source, { position: header.end }))
        const read = blocks.flatMap((block) => Array.from(block.rowEnd, (_, row) => cellsOf(block, row)))
        expect(read.map((row) => row.map((cell) => cell.toString('latin1')))).toEqual(
          rows.map((row) => expectedCells(columns, row)),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('are cut at any number of bytes into the whole lines that fit, and the first row that does not fit is named', () => {
    fc.assert(
      fc.property(table, fc.double({ min: 0, max: 1.1, noNaN: true }), ({ columns, rows }, share) => {
        const content = keep(columns, rows).content()
        const lines = rows.map((row) => linesOf(columns, [row]))
        const room = Math.round(share * lines.reduce((sum, { length }) => sum + length, 0))
        let fitting = 0
        let bytes = 0
        for (const { length } of lines) {
          if (bytes + length > room) break
          bytes += length
          fitting++
        }
        const expected = Buffer.concat(lines.slice(0, fitting))
        expect(Buffer.concat([...new ErrorLines(columns).of(content, room)])).toEqual(expected)
        const cut = { byteSize: expected.length, endsBeforeRow: rows[fitting]?.number }
        expect(new ErrorLines(columns).cut(content, room)).toEqual(cut)
      }),
      { numRuns: 300 },
    )
  })

  test('that are cut off anywhere become the lines of their whole rows', () => {
    fc.assert(
      fc.property(table, fc.double({ min: 0, max: 1, noNaN: true }), ({ columns, rows }, share) => {
        const content = keep(columns, rows).content()
        const whole = linesOf(columns, rows)
        const start = content.subarray(0, Math.floor(share * content.length))
        const lines = Buffer.concat([...new ErrorLines(columns).of(start)])
        const ends = rows.map((_, index) => linesOf(columns, rows.slice(0, index)).length)
        expect(whole.subarray(0, lines.length)).toEqual(lines)
        expect([...ends, whole.length]).toContain(lines.length)
      }),
    )
  })

  test('can be replaced by the rows of another batch in the same memory', () => {
    fc.assert(
      fc.property(table, ({ columns, rows }) => {
        const kept = keep(columns, rows)
        const content = Buffer.from(kept.content())
        kept.clear()
        expect([kept.content().length, kept.lineBytes]).toEqual([0, 0])
        for (const { number, problems, values } of rows) kept.add(number, problems, rowOf(values))
        expect(kept.content()).toEqual(content)
      }),
    )
  })
})
