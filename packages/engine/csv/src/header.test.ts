import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { columnError } from './column-error.ts'
import { FileError } from './file-error.ts'
import { type Header, readHeader } from './header.ts'
import { cut, cuts, sourceOf } from './testing/documents.ts'

function read(file: string | Buffer): Promise<Header> {
  return readHeader(sourceOf([Buffer.from(file)]))
}

/** Returns a header of this size: `user_id` and names of 40 bytes, with commas between them. */
function headerOfSize(bytes: number): string {
  const names = ['user_id']
  for (let size = 7; size < bytes; size += 1 + (names.at(-1)?.length ?? 0)) {
    names.push(String(names.length).padStart(Math.min(40, bytes - size - 1), 'k'))
  }
  return names.join(',')
}

// service.md, What the service does; service.md, Bulk import CSV file; service.md, Limits;
// design.md §3, Placeholders in messages; design.md §3, Columns; design.md §3, Standard profiles.
describe('readHeader returns the names and the start of the data', () => {
  test.each([
    ['LF', 'user_id,age\n1,2\n', ['user_id', 'age'], 12],
    ['CRLF', 'user_id,age\r\n1,2\r\n', ['user_id', 'age'], 13],
    ['no data rows', 'user_id\n', ['user_id'], 8],
    ['user_id not as the first column', 'age,user_id\n', ['age', 'user_id'], 12],
    ['SERVICE_ERRORS anywhere', 'a,SERVICE_ERRORS,user_id\n', ['a', 'SERVICE_ERRORS', 'user_id'], 25],
    ['a BOM', '\ufeffuser_id\n', ['user_id'], 11],
    ['a BOM and quotes', '\ufeff"user_id"\n', ['user_id'], 13],
    ['a first letter whose bytes begin like those of a BOM', 'Ａge,user_id\n', ['Ａge', 'user_id'], 14],
    ['leading blank lines', '\n\r\n\r\r\nuser_id\n', ['user_id'], 14],
    ['several CRs before LF', 'user_id,"age"\r\r\n1,2\r\r\n', ['user_id', 'age'], 16],
    ['CR at the end of the file', 'user_id,age\r', ['user_id', 'age'], 12],
    ['CRs after a quoted name at the end of the file', 'user_id,"age"\r\r', ['user_id', 'age'], 15],
    ['CR within quotes', 'user_id,"a\rge"\r\n', ['user_id', 'a\rge'], 16],
    ['quoted names', '"user_id","a ""b"", c\r\nd"\n', ['user_id', 'a "b", c\r\nd'], 26],
    ['white space, which stays', 'user_id, user_id ,\tage\n', ['user_id', ' user_id ', '\tage'], 23],
    ['names that differ only in case', 'user_id,Age,age\n', ['user_id', 'Age', 'age'], 16],
    ['names that are not ASCII', 'user_id,年齢\n', ['user_id', '年齢'], 15],
    ['a second BOM, which is part of the name', '\ufeffuser_id,\ufeffuser_id\n', ['user_id', '\ufeffuser_id'], 22],
    ['a name of 255 characters', `user_id,${'😀'.repeat(255)}\n`, ['user_id', '😀'.repeat(255)], 1029],
    ['quotes inside a name', 'user_id,5" disk\n', ['user_id', '5" disk'], 16],
  ])('with %s', async (_, file, columns, end) => {
    expect(await read(file)).toEqual({ columns, end })
  })

  test('of a header of the greatest size, whatever the line break and the BOM', async () => {
    const header = headerOfSize(102_400)
    expect((await read(`${header}\n`)).end).toBe(102_401)
    expect((await read(`\ufeff${header}\r\r\n`)).end).toBe(102_406)
    expect((await readHeader(sourceOf([`${header}\r`, '\n'].map((part) => Buffer.from(part))))).end).toBe(102_402)
  })

  test('however the bytes are cut', async () => {
    const file = Buffer.from('\ufeff\r\n"user_id",日本,"a\r\n""b"""\r\n1,2,3\r\n')
    const whole = await read(file)
    await fc.assert(
      fc.asyncProperty(cuts, async (shares) => {
        expect(await readHeader(sourceOf(cut(file, shares)))).toEqual(whole)
      }),
    )
  })

  test('and reads no more chunks than needed', async () => {
    const source = sourceOf([Buffer.from('user_'), Buffer.from('id\n'), Buffer.from('1\n'), Buffer.from('2\n')])
    await readHeader(source)
    expect(source).toMatchObject({ ended: true, chunksRead: 2 })
  })
})

// design.md §3, CSV dialect.
describe('readHeader refuses', () => {
  const latin1 = Buffer.from('user_id,caf\xe9,na\xefve\n', 'latin1')
  const long = 'x'.repeat(256)
  const longNames = Array.from({ length: 11 }, (_, index) => `${long}${index}`)
  const columnsFrom = (first: number) => Array.from({ length: 10 }, (_, index) => `column ${first + index}`)

  test.each([
    ['no bytes', '', 'empty file'],
    ['a BOM alone', '\ufeff', 'empty file'],
    ['blank lines alone', '\ufeff\n\r\n\n', 'empty file'],
    ['a header that is too large', `${headerOfSize(102_401)}\n`, 'header size over 102400 bytes'],
    ['a header that is too large with CRLF', `${headerOfSize(102_401)}\r\n`, 'header size over 102400 bytes'],
    ['a header that is too large without line break', headerOfSize(102_401), 'header size over 102400 bytes'],
    ['a header that is too large within quotes', `"${'x\n'.repeat(60_000)}`, 'header size over 102400 bytes'],
    ['a header without line break', 'user_id,age', 'newline character not found'],
    ['a header without line break of the greatest size', headerOfSize(102_400), 'newline character not found'],
    ['CR as line break', 'user_id\r1\r2\r', 'newline character not found'],
    ['CR as line break, before LF', 'user_id,plan\ru1,gold\r\n', 'newline character not found'],
    ['CR as line break after a quoted name', '"user_id"\r"u1"\r', 'newline character not found'],
    ['CR as line break in a large file', 'user_id\r'.repeat(40_000), 'newline character not found'],
    ['CR before a name', '\ruser_id\n', 'newline character not found'],
    ['CR before a broken quote', 'user_id\rplan,"a"b\n', 'newline character not found'],
    ['a blank line of very many CRs', `${'\r'.repeat(300_000)}\nuser_id\n`, 'header size over 102400 bytes'],
    ['a broken quote before CR', 'user_id,"a"b\rc\n', 'quote is not closed in header'],
    ['CRs without end', '\r'.repeat(300_000), 'header size over 102400 bytes'],
    ['CRs alone', '\r\r\n\r\r', 'empty file'],
    ['a quote that is not closed', 'user_id,"age\n1,2\n', 'quote is not closed in header'],
    ['text after a closing quote', '"user_id"x\n1\n', 'quote is not closed in header'],
    ['names that are all empty', ',""\nuser_id\n', 'empty columns'],
    ['a name that is never closed, before CR', 'user_id,"age\ru1,2\r', 'quote is not closed in header'],
    ['an empty name', 'user_id,,age\n', 'empty columns'],
    ['an empty name at the end', 'user_id,\n', 'empty columns'],
    ['an empty quoted name', '"",user_id\n', 'empty columns'],
    ['names that are not UTF-8, by their position', latin1, 'column 2, column 3 should be UTF-8'],
    ['NUL in a name', 'user_id,a\0b\n', 'column 2 should be UTF-8'],
    [
      'many names that are not UTF-8, naming ten of them',
      Buffer.from(`user_id,ok${',\xff'.repeat(1_000)}\n`, 'latin1'),
      `${columnsFrom(3).join(', ')} and 990 more should be UTF-8`,
    ],
    [
      'eleven names that are not UTF-8, naming ten of them',
      Buffer.from(`\xe9${',\xff'.repeat(10)}\n`, 'latin1'),
      `${columnsFrom(1).join(', ')} and 1 more should be UTF-8`,
    ],
    [
      'ten names that are not UTF-8, naming all',
      Buffer.from(`\xe9${',\xff'.repeat(9)}\n`, 'latin1'),
      `${columnsFrom(1).join(', ')} should be UTF-8`,
    ],
    ['the bytes of a gzip file', Buffer.from('1f8b0800000000000000ab000a', 'hex'), 'column 1 should be UTF-8'],
    ['duplicates, each named once', 'b,a,user_id,a,b,a\n', 'duplicate columns b, a'],
    [
      'many duplicates, naming ten of them',
      `user_id${',a,b,c,d,e,f,g,h,i,j,k,l'.repeat(2)}\n`,
      'duplicate columns a, b, c, d, e, f, g, h, i, j and 2 more',
    ],
    ['duplicates with control characters, by position', 'user_id,\x1b[2J,\x1b[2J\n', 'duplicate columns column 2'],
    ['duplicates with tabs and line breaks', 'a\tb,"c\nd",a\tb,"c\nd"\n', 'duplicate columns a\tb, c\nd'],
    ['SERVICE_ERRORS twice', 'user_id,SERVICE_ERRORS,SERVICE_ERRORS\n', 'duplicate columns SERVICE_ERRORS'],
    ['no user_id', 'id,age\n', 'user_id column is required'],
    ['user_id in another case', 'User_ID\n', 'user_id column is required'],
    ['long names', `user_id,${long},${long}y\n`, `${long}, ${long}y should be at most 255 characters`],
    [
      'many long names, naming ten of them',
      `user_id,${longNames.join(',')}\n`,
      `${longNames.slice(0, 10).join(', ')} and 1 more should be at most 255 characters`,
    ],
    [
      'an extremely long name, showing 1,000 characters of it',
      `user_id,${'😀'.repeat(2_000)}\n`,
      `${'😀'.repeat(1_000)}… should be at most 255 characters`,
    ],
    [
      'a very long name of ASCII, showing 1,000 characters of it',
      `user_id,${'x'.repeat(2_000)}\n`,
      `${'x'.repeat(1_000)}… should be at most 255 characters`,
    ],
    [
      'many standard profiles, naming ten of them',
      'user_id,$a,$b,$c,$d,$e,$f,$g,$h,$i,$j,$k,$l\n',
      'standard user profile cannot be updated: $a, $b, $c, $d, $e, $f, $g, $h, $i, $j and 2 more',
    ],
    ['standard profiles', 'user_id,$name,age,$email\n', 'standard user profile cannot be updated: $name, $email'],
  ])('%s', async (_, file, message) => {
    await expect(read(file)).rejects.toThrow(new FileError(message))
  })

  test.each([
    ['empty names before names that are not UTF-8', Buffer.from('caf\xe9,\n', 'latin1'), 'empty columns'],
    ['names that are not UTF-8 before duplicates', Buffer.from('a,a,\xe9\n', 'latin1'), 'column 3 should be UTF-8'],
    ['duplicates before a missing user_id', 'a,a\n', 'duplicate columns a'],
    ['a missing user_id before long names', `${long}\n`, 'user_id column is required'],
    ['long names before standard profiles', `user_id,$a,${long}\n`, `${long} should be at most 255 characters`],
  ])('%s', async (_, file, message) => {
    await expect(read(file)).rejects.toThrow(new FileError(message))
  })

  test('a BOM after a blank line, which is part of the first name', async () => {
    const source = sourceOf(['\n', '\ufeffuser_id\n'].map((chunk) => Buffer.from(chunk)))
    await expect(readHeader(source)).rejects.toThrow(new FileError('user_id column is required'))
  })

  test('an oversized header without reading the rest', async () => {
    const source = sourceOf(Array.from({ length: 100 }, () => Buffer.alloc(65_536, 'x')))
    await expect(readHeader(source)).rejects.toThrow('header size over 102400 bytes')
    expect(source).toMatchObject({ ended: true, chunksRead: 2 })
  })
})

describe('the log entry of a refused header contains none of its names', () => {
  test.each([
    ['user_id,jane,jane,joe,joe\n', 'duplicate columns [2 names]'],
    [`user_id,${'jane'.repeat(100)}\n`, '[1 names] should be at most 255 characters'],
    ['user_id,$jane\n', 'standard user profile cannot be updated: [1 names]'],
    ['jane\n', 'user_id column is required'],
  ])('%j', async (file, forLog) => {
    await expect(read(Buffer.from(file))).rejects.toMatchObject({ forLog })
  })
})

test('characters of a name that could control a terminal or reverse a text are not in a message', () => {
  const names = ['\x1b[2J', 'a\tb', '\u202egnp.x']
  const messageOf = (columns: string[]) => columnError(names, columns, (shown) => `duplicate columns ${shown}`).message
  expect(messageOf(['user_id', ...names])).toBe('duplicate columns column 2, a\tb, column 4')
  expect(messageOf(['user_id'])).toBe('duplicate columns \ufffd[2J, a\tb, \ufffdgnp.x')
})
