import { expect, test } from 'vitest'
import { messageOf } from './failure.ts'

test('an error with several causes shows its own message, or the messages of its causes if it has none', () => {
  const causes = [new Error('connect ECONNREFUSED ::1:5432'), new Error('connect ECONNREFUSED 127.0.0.1:5432')]
  expect(messageOf(new AggregateError(causes))).toBe(
    'connect ECONNREFUSED ::1:5432, connect ECONNREFUSED 127.0.0.1:5432',
  )
  expect(messageOf(new AggregateError(causes, 'no host accepts writes: both are read-only'))).toBe(
    'no host accepts writes: both are read-only',
  )
})
