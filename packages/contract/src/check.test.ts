import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { checkRequest, documented, documentedAll, listOf, member, nameOf, refuse } from './check.ts'
import { isJsonObject, JsonNumber } from './json-object.ts'

describe('the messages of a refused request', () => {
  const request = z.object({
    ids: listOf(nameOf(3), 'IDs', 150).optional(),
    note: member((given) => (given === 'x' ? { messages: ['note 1', 'note 2'] } : { value: given }), {}),
  })

  test('name the member and the place in a list, unless the message is whole', () => {
    expect(checkRequest(request, { ids: ['a', '', 'long', 7], note: 'x' })).toEqual({
      messages: [
        'ids[1] must not be empty',
        'ids[2] should be at most 3 characters',
        'ids[3] must be a string',
        'note 1',
        'note 2',
      ],
    })
  })

  test('name no member if the problem is that of the whole body', () => {
    const never = z.object({}).superRefine((_, context) => {
      context.addIssue({ code: 'custom', message: 'no' })
      refuse(context, 'never')
    })
    expect(checkRequest(never, {})).toEqual({ messages: ['no', 'never'] })
  })

  test('are at most 100', () => {
    const refused = checkRequest(request, { ids: Array.from({ length: 150 }, () => '') })
    expect('messages' in refused && refused.messages).toHaveLength(100)
  })

  test.each([
    ['no list', 'a', 'ids must be an array of IDs'],
    ['an empty list', [], 'ids must not be empty'],
    [
      'a long list, whose items are not checked',
      Array.from({ length: 151 }, () => ''),
      'ids must hold at most 150 IDs',
    ],
  ])('say of %s what is wrong', (_, ids, message) => {
    expect(checkRequest(request, { ids })).toEqual({ messages: [message] })
  })

  test.each([undefined, null, 7, 'text', [], new JsonNumber('1e1')])('say of %j that it is no object', (given) => {
    expect(isJsonObject(given)).toBe(false)
    expect(checkRequest(request, given)).toEqual({ messages: ['The request body must be a JSON object.'] })
  })
})

describe('the documented schema', () => {
  test.each([
    ['a name', nameOf(7), { type: 'string', minLength: 1, maxLength: 7 }],
    [
      'a list',
      listOf(nameOf(7), 'names', 5),
      { type: 'array', minItems: 1, maxItems: 5, items: { type: 'string', minLength: 1, maxLength: 7 } },
    ],
    ['a member', member((given) => ({ value: given }), { type: 'boolean' }), { type: 'boolean' }],
    ['any integer', z.int(), { type: 'integer' }],
    ['an integer with bounds', z.int().min(-1).max(1), { type: 'integer', minimum: -1, maximum: 1 }],
    [
      'an integer whose format has a range',
      z.int().meta({ format: 'int64' }),
      { type: 'integer', format: 'int64', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    ],
    ['a time', z.iso.datetime(), { type: 'string', format: 'date-time' }],
    ['a text with a pattern', z.string().regex(/^a$/), { type: 'string', pattern: '^a$' }],
    [
      'keys and values',
      z.record(z.string(), z.boolean()),
      { type: 'object', additionalProperties: { type: 'boolean' } },
    ],
    ['a value that a transformation follows', z.string().transform(Number), { type: 'string' }],
  ])('of %s has the rules of the API only', (_, schema, json) => {
    expect(documented(schema)).toEqual(json)
  })

  test('of one part refers to the others by their IDs', () => {
    const part = z.object({ at: z.iso.datetime().default('') }).meta({ id: 'PartOfTest' })
    const whole = z.object({ part, any: z.custom() }).meta({ id: 'WholeOfTest' })
    // Other test files may run in this process, and see the same registry.
    onTestFinished(() => {
      for (const schema of [part, whole]) z.globalRegistry.remove(schema)
    })
    expect(documentedAll('input').WholeOfTest).toMatchObject({
      properties: { part: { $ref: '#/components/schemas/PartOfTest' }, any: {} },
    })
    expect(documentedAll('input').PartOfTest).toEqual({
      type: 'object',
      properties: { at: { type: 'string', format: 'date-time', default: '' } },
    })
    expect(documentedAll('output').PartOfTest).toHaveProperty('required', ['at'])
  })
})
