import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkRequest } from './check.ts'
import { importCursor, importListQuery, importWaitQuery } from './import-list.ts'

const parse = (query: object) => checkRequest(importListQuery, query)

// second-day.md §3, List of imports.
test('without parameters, a page has the newest 20 imports', () => {
  expect(parse({})).toEqual({ value: { limit: 20 } })
  expect(parse({ state: '', source: '', limit: '', cursor: '' })).toEqual({ value: { limit: 20 } })
})

// changes.md §2, The decision.
test('each filter is accepted', () => {
  const query = { state: 'failed', source: 'bucket', limit: '100', cursor: importCursor(7) }
  expect(parse(query)).toEqual({ value: { state: 'failed', source: 'bucket', limit: 100, cursor: 7 } })
  expect(parse({ state: 'held' })).toMatchObject({ value: { state: 'held' } })
})

test('the limit may be a number', () => {
  expect(parse({ limit: 1 })).toEqual({ value: { limit: 1 } })
})

// changes.md §5.
test('an answer may wait 1 to 30 seconds for another state', () => {
  const wait = (query: object) => checkRequest(importWaitQuery, query)
  expect(wait({})).toEqual({ value: {} })
  expect(wait({ wait: '1' })).toEqual({ value: { wait: 1 } })
  expect(wait({ wait: '30', state: 'queued' })).toEqual({ value: { wait: 30, state: 'queued' } })
  expect(wait({ wait: '31', state: 'done' })).toEqual({
    messages: ['wait must be a whole number from 1 to 30', expect.stringContaining('state must be one of ')],
  })
})

test.each([
  [
    { state: 'done' },
    'state must be one of awaiting_upload, queued, processing, held, completed, failed, expired, cancelled',
  ],
  [{ state: ['failed', 'queued'] }, 'state must be one of awaiting_upload'],
  [{ source: 'V3' }, 'source must be one of v3, v2, dashboard, bucket'],
  [{ limit: '0' }, 'limit must be a whole number from 1 to 100'],
  [{ limit: '101' }, 'limit must be a whole number from 1 to 100'],
  [{ limit: '1e1' }, 'limit must be a whole number from 1 to 100'],
  [{ limit: '-1' }, 'limit must be a whole number from 1 to 100'],
  [{ limit: '0000005' }, 'limit must be a whole number from 1 to 100'],
  [{ limit: ['5'] }, 'limit must be a whole number from 1 to 100'],
  [{ limit: '5 ' }, 'limit must be a whole number from 1 to 100'],
  [{ limit: ' 5' }, 'limit must be a whole number from 1 to 100'],
  [{ cursor: `${importCursor(7)}=` }, 'cursor is not a cursor of this list'],
  [{ cursor: 'AAAA' }, 'cursor is not a cursor of this list'],
  [{ cursor: 'x' }, 'cursor is not a cursor of this list'],
  [{ cursor: '__________8' }, 'cursor is not a cursor of this list'],
])('%j is refused with a message that names the parameter', (query, message) => {
  expect(parse(query)).toEqual({ messages: [expect.stringContaining(message)] })
})

// second-day.md §3, List of imports.
test('every invalid parameter has its own message', () => {
  expect(parse({ state: 'x', source: 'x', limit: 'x', cursor: 'x' })).toEqual({
    messages: ['state', 'source', 'limit', 'cursor'].map((name) => expect.stringMatching(`^${name} `)),
  })
})

test('a cursor is read back as the number that it was made of', () => {
  fc.assert(
    fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (number) => {
      expect(parse({ cursor: importCursor(number) })).toEqual({ value: { limit: 20, cursor: number } })
    }),
  )
})

test('any query is either a request or refused with messages that name its parameters', () => {
  const value = fc.oneof(fc.string(), fc.array(fc.string()), fc.constantFrom('failed', 'v3', '5', importCursor(3)))
  const query = fc.record({ state: value, source: value, limit: value, cursor: value }, { requiredKeys: [] })
  fc.assert(
    fc.property(query, (given) => {
      const parsed = parse(given)
      if ('value' in parsed) expect(parsed.value.limit).toBeGreaterThan(0)
      else {
        expect(parsed.messages).not.toEqual([])
        for (const message of parsed.messages) expect(message).toMatch(/^(state|source|limit|cursor) /)
      }
    }),
  )
})
