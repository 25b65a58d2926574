import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeName, personIdName } from './close-names.ts'

test.each([
  ['User ID', 'user_id'],
  ['UserId', 'user_id'],
  ['E-Mail', 'email'],
  ['emial', 'email'],
  ['Ctiy', 'city'],
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

test('the closest of several names is proposed', () => {
  expect(closeName('first_name', ['first_name_xy', 'first_name_x', 'last_name'])).toBe('first_name_x')
})

test('names without letters are not close to each other', () => {
  expect(closeName('---', ['--'])).toBeUndefined()
})

test('two names that are equally close are no proposal', () => {
  expect(closeName('plan_c', ['plan_a', 'plan_b'])).toBeUndefined()
})

test.each([
  ['Customer ID', ['Name', 'Customer ID', 'Order IDs']],
  ['id', ['id', 'email', 'android']],
  ['Contact-No.', ['Contact-No.', 'Plan ID']],
  [undefined, ['id', 'Customer ID']],
  [undefined, ['No', 'Contact notes', 'email', 'phone number', '', '---']],
])('%j is the name of a person ID among %j', (found, names) => {
  expect(personIdName(names)).toBe(found)
})

/** The number of letters to insert, delete or replace, or of neighbours to swap, without any shortcut. */
function distance(one: string, other: string): number {
  if (one === '' || other === '') return one.length + other.length
  if (one[0] === other[0]) return distance(one.slice(1), other.slice(1))
  const isSwap = one.length > 1 && one[0] === other[1] && one[1] === other[0]
  const swapped = isSwap ? distance(one.slice(2), other.slice(2)) : Number.POSITIVE_INFINITY
  const [shorter, shorterOther] = [one.slice(1), other.slice(1)]
  const others = [distance(shorter, other), distance(one, shorterOther), distance(shorter, shorterOther)]
  return 1 + Math.min(swapped, ...others)
}

test('a name is close if it differs by one letter or swap of four to seven, or by two of more, wherever they are', () => {
  const word = fc.string({ unit: fc.constantFrom('A', 'B'), minLength: 4, maxLength: 9 })
  fc.assert(
    fc.property(word, word, (one, other) => {
      const allowed = Math.min(one.length, other.length) < 8 ? 1 : 2
      expect(closeName(one, [other])).toBe(distance(one, other) <= allowed ? other : undefined)
    }),
    { numRuns: 500 },
  )
})
