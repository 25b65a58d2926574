import { expect, test } from 'vitest'
import { printable, printableJson, printableLines } from './printable.ts'

const hostile = 'a\x1b[2J\r\x7f\x9bm\u2028\u202e\u2066b é 😀\u200d'

test('characters that control a terminal become visible, other characters stay', () => {
  expect(printable(`${hostile}\n`)).toBe('a\ufffd[2J\ufffd\ufffd\ufffdm\ufffd\ufffd\ufffdb é 😀\u200d\ufffd')
})

test('line breaks stay in a text of several lines', () => {
  expect(printableLines('one\r\ntwo\n')).toBe('one\ufffd\ntwo\n')
})

test('printable JSON has no control characters, and parses to the same value', () => {
  const json = printableJson({ [hostile]: [hostile] })
  expect(printableLines(json)).toBe(json)
  expect(JSON.parse(json)).toEqual({ [hostile]: [hostile] })
})
