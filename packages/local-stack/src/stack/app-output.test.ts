import { expect, test } from 'vitest'
import { warningIn } from './app-output.ts'

test.each([
  ['{"level":"info","msg":"fine"}', false, undefined],
  ['{"level":"warn","msg":"careful"}', false, 'careful'],
  ['{"level":"error","msg":"import failed","err":{"message":"no bucket"}}', false, 'import failed: no bucket'],
  ['{"level":"info","msg":"fine"}', true, undefined],
  ['plain words', false, undefined],
  ['TypeError: x is not a function', true, 'TypeError: x is not a function'],
  ['{ not JSON', true, '{ not JSON'],
  ['', true, undefined],
])('for the line %s (on stderr: %s), the terminal shows %s', (line, isStderr, expected) => {
  expect(warningIn(line, isStderr)).toBe(expected)
})
