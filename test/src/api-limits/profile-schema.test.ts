import { openApiDocument } from '@sluice/api-app/src/openapi/document.ts'
import { checkEntries } from '@sluice/profiles'
import { describe, expect, test } from 'vitest'
import { documentCheck } from './document-check.ts'

// The document ties a value to its type, in requests and in answers.
const document = openApiDocument('http://api.test')
const check = documentCheck(document)

function matches(schema: string, value: unknown): boolean {
  try {
    check.matches({ $ref: `#/components/schemas/${schema}` }, value, schema)
    return true
  } catch {
    return false
  }
}

const types = ['string', 'int', 'decimal', 'datetime', 'number', undefined]
const values = [
  '',
  'Alice',
  '12',
  '😀'.repeat(255),
  'x'.repeat(256),
  0,
  -0,
  12.0,
  12.5,
  -1e308,
  9007199254740991,
  -9007199254740991,
  9007199254740992,
  true,
  null,
  undefined,
  [],
  {},
  '2026-03-01T18:30Z',
  '2026-03-01T18:30:00+09:00',
  '2026-03-01T18:30:00.1234567-09',
  '2026-03-01T18:30:00,5+09:30',
  '2026-03-01T18:30:00',
  '2026-03-01 18:30:00Z',
  '2026-03-01',
  '2026-03-01T18:30:00Z\n',
]
/** The document cannot tell that digits out of the range of ints need a point or an exponent. */
const isOnlyRefusedByEndpoint = ({ type, value }: { type?: string; value?: unknown }) =>
  type === 'decimal' && value === 9007199254740992
const entriesOf = (type: string | undefined) => values.map((value) => ({ key: 'k', type, value }))

describe('of an entry with any type and value', () => {
  test.each(types)('a request matches the document if the endpoint accepts it: type %s', (type) => {
    const entries = entriesOf(type).filter((entry) => !isOnlyRefusedByEndpoint({ ...entry, type: entry.type ?? '' }))
    const sent: object[] = JSON.parse(JSON.stringify(entries))
    const accepted = sent.filter((entry) => 'entries' in checkEntries([{ ...entry }]))
    const body = (entry: object) => ({ user_id: 'u1', user_profiles: [entry] })
    expect(sent.filter((entry) => matches('ProfileEntry', entry))).toEqual(accepted)
    expect(sent.filter((entry) => matches('ProfileUpdateRequest', body(entry)))).toEqual(accepted)
  })

  test('an answer matches the document only if its value has its type', () => {
    const answered = types.flatMap(entriesOf).flatMap((entry) => {
      const checked = checkEntries([entry])
      return 'entries' in checked ? checked.entries : []
    })
    expect(new Set(answered.map(({ type }) => type)).size).toBe(4)
    for (const entry of answered) {
      const answer = (change: object) => ({ user_id: 'u1', user_profiles: [{ ...entry, ...change }] })
      expect(matches('ProfileUpdateAnswer', answer({}))).toBe(true)
      expect(matches('ProfileUpdateAnswer', answer({ more: 1 }))).toBe(false)
      expect(matches('ProfileUpdateAnswer', answer({ value: true }))).toBe(false)
      const other = entry.type === 'int' || entry.type === 'decimal' ? 'string' : 'int'
      expect(matches('ProfileUpdateAnswer', answer({ type: other }))).toBe(false)
    }
    const datetime = (value: string) => ({ user_id: 'u1', user_profiles: [{ key: 'at', type: 'datetime', value }] })
    expect(matches('ProfileUpdateAnswer', datetime('2026-03-01 18:30:00.000'))).toBe(true)
    expect(matches('ProfileUpdateAnswer', datetime('2026-03-01T18:30:00Z'))).toBe(false)
  })
})
