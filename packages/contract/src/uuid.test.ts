import { expect, test } from 'vitest'
import { isUuid, parseFileToken } from './uuid.ts'

const id = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
const secret = 'Az09_-'.padEnd(32, 'x')

test.each([
  [id, true],
  [id.toUpperCase(), true],
  [`${id}0`, false],
  [`0${id}`, false],
  [id.replaceAll('-', ''), false],
  [id.replace('3f', '3g'), false],
])('whether %s is a UUID: %s', (text, expected) => {
  expect(isUuid(text)).toBe(expected)
})

test('the token of a file is a UUID in small letters, a point and a secret of 32 characters', () => {
  expect(parseFileToken(`${id}.${secret}`)).toEqual({ id, secret })
  const refused = ['', id, `${id}.`, `${id}.${secret}x`, `${id}.${secret.slice(1)}`, `x${id}.${secret}`]
  const altered = [`${id.toUpperCase()}.${secret}`, `${id}x${secret}`, `${id}.${secret.replace('x', '.')}`]
  for (const token of [...refused, ...altered]) expect(parseFileToken(token), token).toBeUndefined()
})
