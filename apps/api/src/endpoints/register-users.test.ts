import { expect, test } from 'vitest'
import { checkBody } from '../endpoint.ts'
import { registerUsers } from './register-users.ts'

test('a registration of users names at most 100 invalid IDs', () => {
  const parsed = checkBody(registerUsers, { user_ids: Array.from({ length: 5000 }, () => '') })
  expect('messages' in parsed && parsed.messages).toHaveLength(100)
})
