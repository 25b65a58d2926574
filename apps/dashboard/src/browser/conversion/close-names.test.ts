import { expect, test } from 'vitest'
import { closeName } from './close-names.ts'

test.each([
  ['User ID', 'user_id'],
  ['UserId', 'user_id'],
  ['E-Mail', 'email'],
  ['emial', undefined],
  ['e_mail ', 'email'],
  ['citty', 'city'],
  ['cty', undefined],
  ['Größe', 'grosse'],
  ['Grosse', 'grosse'],
  ['last_nme', 'last_name'],
  ['registered on', 'registered_at'],
  ['plan', undefined],
  ['', undefined],
  ['---', undefined],
])('the name %j is close to %j', (name, close) => {
  const known = ['user_id', 'email', 'city', 'grosse', 'last_name', 'registered_at', 'plan_a', 'plan_b']
  expect(closeName(name, known)).toBe(close)
})

test('two names that are equally close are no proposal', () => {
  expect(closeName('plan_c', ['plan_a', 'plan_b'])).toBeUndefined()
})
