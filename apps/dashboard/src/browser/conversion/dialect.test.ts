import fc from 'fast-check'
import { expect, test } from 'vitest'
import { detectDialect, separators } from './dialect.ts'

test.each([
  ['commas', 'user_id,name\nu1,A\n', ',', '\n', 0],
  ['semicolons and decimal commas', 'user_id;height\r\nu1;1,70\r\nu2;1,80\r\n', ';', '\n', 0],
  ['semicolons, with another name for user_id', 'ID;height;weight\nu1;1,70;60,5\n', ';', '\n', 0],
  ['tabs', 'user_id\tname\nu1\tA, B; C\n', '\t', '\n', 0],
  ['CR alone', 'user_id;name\ru1;"A\nB"\r', ';', '\r', 0],
  ['a line that names the separator', 'sep=;\r\nname,first;x\r\n1;2\r\n', ';', '\n', 7],
  ['a quoted line that names the separator', '"sep=;"\r\nuser_id;plan\r\nu1;gold\r\n', ';', '\n', 9],
  ['a line that names the separator, with CR alone', 'SEP=;\ruser_id;plan\ru1;gold\r', ';', '\r', 6],
  ['a first line that contains sep', 'x,sep=;\nuser_id,b\n', ',', '\n', 0],
  ['a value that begins with sep', 'sep=;x,user_id\n1,2\n', ',', '\n', 0],
  ['half a quote around the line that names the separator', '"sep=;\n",user_id\n', ',', '\n', 0],
  ['a line that names the separator, with several CRs', 'sep=\t\r\r\na,b\n', '\t', '\n', 8],
  ['a line that names the separator, against user_id', 'sep=;\nuser_id,b\n', ';', '\n', 6],
  ['a name of the ID, with the same number of semicolons', 'ID;a,b\n1;2,3\n', ',', '\n', 0],
  ['a name of the ID, and rows with more commas', 'ID;a\n1;2,3\n4;5,6\n', ';', '\n', 0],
  ['a name of the ID, and more columns with tabs', 'ID\ta\tb;c\n', '\t', '\n', 0],
  ['a name of the ID, and rows of other lengths', 'ID;a,b\n1;2\n3;4\n', ';', '\n', 0],
  ['rows with fewer semicolons than the header', 'ID;a;b\n1;2\n3;4;5\n', ';', '\n', 0],
  ['user_id, and rows with as many other signs', 'user_id;a,b\n1,2\n3,4\n', ';', '\n', 0],
  ['rows that are broken with one of two separators', 'ID;a,b\n1;x,"y"z\n', ';', '\n', 0],
  ['commas and a broken quote', 'ID,"a"b\n1,2\n', ',', '\n', 0],
  ['a CR within quotes of the header', '"a\rbc",user_id\n1,2\n', ',', '\n', 0],
  ['blank lines of two kinds before CR alone', '\n\r\r\nuser_id,plan\ru1,gold\n', ',', '\r', 0],
  ['a header with a broken quote', 'ID;"a"b,c\n1;2\n', ',', '\n', 0],
  ['CR alone, and LF after the last line', 'user_id,plan\ru1,gold\ru2,silver\r\n', ',', '\r', 0],
  ['a blank line before CR alone', '\r\nuser_id,plan\ru1,gold\n', ',', '\r', 0],
  ['several CRs before LF', 'user_id,plan\r\r\nu1,gold\r\r\n', ',', '\n', 0],
  ['a lone CR in a row', 'user_id,plan\nu1,go\rld\n', ',', '\n', 0],
  ['a header that CR ends', 'user_id,plan\r', ',', '\n', 0],
  ['semicolons within values', 'user_id,tags\nu1,a;b;c\nu2,d;e;f\n', ',', '\n', 0],
  ['one column', 'user_id\nu1\n', ',', '\n', 0],
  ['one line without a line break', 'user_id;name', ';', '\n', 0],
  ['separators within quotes', '"a,b,c";"d"\n"1,2,3";"4"\n', ';', '\n', 0],
  ['nothing', '', ',', '\n', 0],
])('the dialect of a file with %s', (_, text, separator, lineBreak, prefixLength) => {
  expect(detectDialect(text)).toEqual({ separator, lineBreak, prefixLength })
})

test('the separator of any file with a column user_id is found', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '1', ' ', ',', ';', '\t', '"', '.'), maxLength: 6 })
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
  fc.assert(
    fc.property(
      fc.array(fc.array(cell, { minLength: 1, maxLength: 3 }), { maxLength: 5 }),
      fc.constantFrom(...separators),
      fc.constantFrom('\n', '\r\n', '\r'),
      (rows, separator, lineBreak) => {
        const lines = [`user_id${separator}a`, ...rows.map((cells) => cells.map(quote).join(separator))]
        const found = detectDialect(lines.map((line) => line + lineBreak).join(''))
        expect(found).toMatchObject({ separator, lineBreak: lineBreak === '\r' && rows.length > 0 ? '\r' : '\n' })
      },
    ),
  )
})
