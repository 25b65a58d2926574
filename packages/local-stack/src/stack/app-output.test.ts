import { expect, test } from 'vitest'
import { warningIn } from './app-output.ts'

test.each([
  ['{"level":"info","msg":"fine"}', false, undefined],
  ['{"level":"warn","msg":"careful"}', false, 'careful'],
  ['{"level":"error","msg":"import failed","err":{"message":"no bucket"}}', false, 'import failed: no bucket'],
  [
    '{"level":"warn","time":"2026-11-27T09:00:00Z","pid":7,"hostname":"h","name":"sluice-worker","app_id":1,"host":"127.0.0.1:4000","error":"connect ECONNREFUSED","msg":"webhook postponed"}',
    false,
    'webhook postponed: connect ECONNREFUSED (app_id 1, host 127.0.0.1:4000)',
  ],
  [
    '{"level":"warn","msg":"import failed: empty file","err":{"message":"empty file"},"rows":{"total":0}}',
    false,
    'import failed: empty file (rows {"total":0})',
  ],
  ['{"level":"info","msg":"fine"}', true, undefined],
  ['plain words', false, undefined],
  ['TypeError: x is not a function', true, 'TypeError: x is not a function'],
  ['{ not JSON', true, '{ not JSON'],
  ['', true, undefined],
])('for the line %s (on stderr: %s), the terminal shows %s', (line, isStderr, expected) => {
  expect(warningIn(line, isStderr)).toBe(expected)
})
