import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ErrorLines, errorFileHeader } from './error-file.ts'
import { readHeader } from './header.ts'
import { cellsOf } from './row-block.ts'
import { readRows } from './rows.ts'
import { anyCell, sourceOf } from './testing/documents.ts'

const cells = (...values: string[]) => values.map((value) => Buffer.from(value))

/** The line of a row with these cells. */
function errorLine(messages: string[], values: readonly Buffer[], columns: string[]): Buffer {
  const ends: number[] = []
  for (const { length } of values) ends.push((ends.at(-1) ?? 0) + length)
  const row = {
    bytes: Buffer.concat(values),
    firstCell: Uint32Array.of(0, values.length),
    cellStart: Uint32Array.from(ends, (end, index) => end - (values[index]?.length ?? 0)),
    cellEnd: Uint32Array.from(ends),
  }
  const lines = new ErrorLines(columns)
  lines.add(messages, row, 0)
  return lines.take()
}

describe('the header of an error file', () => {
  test.each([
    ['begins with SERVICE_ERRORS', ['user_id', 'age'], 'SERVICE_ERRORS,user_id,age\n'],
    ['has SERVICE_ERRORS once', ['user_id', 'SERVICE_ERRORS', 'age'], 'SERVICE_ERRORS,user_id,age\n'],
    ['quotes names where needed', ['user_id', 'a,"b"'], 'SERVICE_ERRORS,user_id,"a,""b"""\n'],
  ])('%s', (_, columns, line) => {
    expect(errorFileHeader(columns).toString()).toBe(line)
  })
})

describe('a row of an error file', () => {
  const columns = ['user_id', 'age', 'plan']

  test.each([
    [
      'has the message first',
      ['age should be integer'],
      ['u1', 'x', 'gold'],
      columns,
      'age should be integer,u1,x,gold\n',
    ],
    [
      'joins messages',
      ['too many values', 'age should be integer'],
      ['u1'],
      ['user_id'],
      '"too many values, age should be integer",u1\n',
    ],
    ['gives missing values as empty ones', ['m'], ['u1'], columns, 'm,u1,,\n'],
    ['keeps values beyond the columns', ['m'], ['u1', '1', 'gold', 'x', 'y'], columns, 'm,u1,1,gold,x,y\n'],
    [
      'leaves the uploaded messages out',
      ['new'],
      ['old', 'u1', '1'],
      ['SERVICE_ERRORS', 'user_id', 'age'],
      'new,u1,1\n',
    ],
    ['quotes where needed', ['m'], ['a,b', 'a"b', 'a\nb'], columns, 'm,"a,b","a""b","a\nb"\n'],
    ['quotes CR', ['m'], ['u1', '1', 'a\r'], columns, 'm,u1,1,"a\r"\n'],
    ['leaves white space and formulas as they are', ['m'], [' u1 ', '=1+1', '@x'], columns, 'm, u1 ,=1+1,@x\n'],
  ])('%s', (_, messages, values, given, line) => {
    expect(errorLine(messages, cells(...values), given).toString()).toBe(line)
  })

  test('has the bytes of a value that is not UTF-8', () => {
    const value = Buffer.from([0xe9, 0x22, 0xff])
    expect(errorLine(['m'], [value], ['user_id'])).toEqual(
      Buffer.from([0x6d, 0x2c, 0x22, 0xe9, 0x22, 0x22, 0xff, 0x22, 0x0a]),
    )
  })

  test('uploaded again gives the same names and the same cells', async () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
      .filter((text) => /^[^\0$]/.test(text) && !text.includes('\0'))
    const names = fc.uniqueArray(name, { maxLength: 5 }).filter((given) => !given.includes('user_id'))
    const rows = fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.array(anyCell, { maxLength: 8 })), {
      maxLength: 5,
    })
    await fc.assert(
      fc.asyncProperty(names, rows, async (others, failed) => {
        const uploaded = ['user_id', ...others]
        const file = Buffer.concat([
          errorFileHeader(uploaded),
          ...failed.map(([message, given]) => errorLine([message], given, uploaded)),
        ])
        const header = await readHeader(sourceOf([file]))
        expect(header.columns).toEqual(['SERVICE_ERRORS', ...uploaded])

        const source = sourceOf([file.subarray(header.end)])
        const blocks = await Array.fromAsync(readRows(source, { position: header.end }))
        const read = blocks.flatMap((block) => block.rowEnd.map((_, row) => cellsOf(block, row)))
        const padded = failed.map(([message, given]) => [
          Buffer.from(message),
          ...given,
          ...Array.from({ length: uploaded.length - given.length }, () => Buffer.alloc(0)),
        ])
        expect(read).toEqual(padded)
      }),
      { numRuns: 300 },
    )
  })
})
