import { expect, test } from 'vitest'
import { dependencies } from './licences.ts'

/** Licences that require only attribution. */
const permissive = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]

test('every package of a deployment has a licence that requires only attribution', () => {
  const others = dependencies().filter(({ licence }) => !permissive.includes(licence))
  expect(others).toEqual([])
  expect(dependencies().length).toBeGreaterThan(50)
})
