import { expect, test } from 'vitest'
import { isIdempotencyKey } from './idempotency-key.ts'

// second-day.md §4, Keys.
test('an idempotency key has 1 to 255 visible ASCII characters', () => {
  for (const key of ['!', '~', 'a'.repeat(255)]) expect(isIdempotencyKey(key), key).toBe(true)
  for (const key of ['', ' ', 'a b', ' a', 'a ', 'é', 'a\n', 'a'.repeat(256)]) {
    expect(isIdempotencyKey(key), key).toBe(false)
  }
})
