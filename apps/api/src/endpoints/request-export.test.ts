import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkBody } from '../endpoint.ts'
import { requestExport } from './request-export.ts'

const keysOf = (value: unknown) => (value as { keys?: string[] }).keys ?? []

test.each([
  [{ keys: undefined }, undefined],
  [{ keys: null }, undefined],
  [{ keys: ['b', 'a'] }, ['b', 'a']],
  [{ keys: [' ', '__proto__'] }, [' ', '__proto__']],
])('%j asks for these keys in this order', (body, keys) => {
  expect(checkBody(requestExport, body)).toEqual({ value: { keys } })
})

test.each([
  [[], 'The request body must be a JSON object.'],
  [{ keys: 'name' }, 'keys must be an array of profile keys'],
  [{ keys: [] }, 'keys must not be empty'],
  [{ keys: ['a', 1] }, 'keys[1] must be a string'],
  [{ keys: [''] }, 'keys[0] must not be empty'],
  [{ keys: ['a', 'b', 'a'] }, 'keys[2] is named twice'],
  [{ keys: ['x'.repeat(256)] }, 'keys[0] should be at most 255 characters'],
  [{ keys: ['\0'] }, 'keys[0] should not contain U+0000'],
  [{ keys: Array.from({ length: 1601 }, String) }, 'keys must hold at most 1600 profile keys'],
])('%j is refused with a message that names the member', (body, message) => {
  expect(checkBody(requestExport, body)).toEqual({ messages: [message] })
})

test('any JSON is either a request or refused with at most 100 messages', () => {
  const body = fc.oneof(fc.jsonValue(), fc.record({ keys: fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())) }))
  fc.assert(
    fc.property(body, (given) => {
      const parsed = checkBody(requestExport, given)
      if ('messages' in parsed) expect(parsed.messages.length).toBeLessThanOrEqual(100)
      else expect(new Set(keysOf(parsed.value)).size).toBe(keysOf(parsed.value).length)
    }),
  )
})
