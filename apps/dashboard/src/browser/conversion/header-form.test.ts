import { readHeader } from '@sluice/csv'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { headerFormProblem } from './header-form.ts'
import type { Dialect } from './record-reader.ts'

const comma: Dialect = { separator: ',', lineBreak: '\n' }

test.each<[string, string, Dialect, string | undefined]>([
  ['a broken quote', 'user_id,"plan" name\nu1,gold\n', comma, 'quote is not closed in header'],
  ['a broken quote, with semicolons', 'user_id;"plan" name\nu1;gold\n', { ...comma, separator: ';' }, 'quote is not'],
  ['a quote that never closes', 'user_id,"plan\nu1,gold\n', comma, 'quote is not closed in header'],
  [
    'a quote that never closes in a large file',
    `user_id,"plan${'\n1'.repeat(60_000)}`,
    comma,
    'header size over 102400',
  ],
  ['no bytes', '\r\n\n', comma, 'empty file'],
  ['no line break', 'user_id,plan', comma, 'newline character not found'],
  ['a header that is too large', `user_id,${'é'.repeat(60_000)}\n`, comma, 'header size over 102400 bytes'],
  ['lines that end with CR', 'user_id\r"u1"\r', { ...comma, lineBreak: '\r' }, undefined],
  ['quoted names', '"user_id","a ""b""\r\n"\r\r\nu1,"\n', comma, undefined],
])('the form of the header of a file with %s', (_, text, dialect, problem) => {
  const found = headerFormProblem(text, true, dialect)
  if (problem === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(problem)
})

test('the start of a file may end within its header', () => {
  expect(headerFormProblem('user_id,pl', false, comma)).toBeUndefined()
})

test('the import refuses the form of any header for the same reason', async () => {
  const parts = fc.constantFrom('user_id', 'a', ',', '"', '""', '\r', '\n', '\r\n', '",', ',"')
  const forms = /^(empty file|newline character not found|quote is not closed in header)$/
  await fc.assert(
    fc.asyncProperty(fc.array(parts, { maxLength: 12 }), async (texts) => {
      const text = texts.join('')
      const source = async function* () {
        yield Buffer.from(text)
      }
      const refused = await readHeader(source()).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(headerFormProblem(text, true, comma) ?? 'accepted').toBe(forms.test(refused) ? refused : 'accepted')
    }),
    { numRuns: 2_000 },
  )
})
