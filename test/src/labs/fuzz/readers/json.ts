import assert from 'node:assert/strict'
import { checkBody } from '@sluice/api-app/src/endpoint.ts'
import { endpoints } from '@sluice/api-app/src/endpoints/index.ts'
import {
  checkRequest,
  clearMarkerProblem,
  importListQuery,
  parseColumnMapping,
  parseColumnNames,
  parseProfileTypes,
} from '@sluice/contract'
import type { Target } from './target.ts'

const jsonWords = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    '\\u',
    '\\ud800',
    'null',
    'true',
    '1e5',
    '-0',
    '.5',
    '01',
    '"__proto__"',
  ],
  ...['\xef\xbb\xbf', '\xed\xa0\x80', '\xf0\x9f\x98\x80', '\xc2\xa0', '\0', ' ', '\n'],
]

/** The checks of all bodies and queries of the API. They accept any parsed JSON. */
const checks: Record<string, (value: unknown) => unknown> = {
  types: parseProfileTypes,
  ...Object.fromEntries(
    endpoints
      .filter(({ json }) => json !== undefined)
      .map((endpoint) => [endpoint.id, (value: unknown) => checkBody(endpoint, value)]),
  ),
}

const memberNames = [
  ...['checksum', 'byte_size', 'content_type', 'profile_types', 'dry_run', 'new_keys', 'clear_marker', 'file_name'],
  ...['user_id', 'user_profiles', 'key', 'type', 'value', 'profile_keys', 'keys', 'identity_type', 'identity_value'],
  ...['user_ids', 'string', 'int', 'decimal', 'datetime', '2026-01-01T00:00:00Z', 'u1'],
]

/**
 * Fuzzes the checks of request bodies. A check accepts a body, or refuses it with messages, and decides the same each
 * time.
 */
export const requestBodies: Target = {
  name: 'request-bodies',
  dictionary: [...jsonWords, ...memberNames.map((name) => `"${name}"`)],
  seeds: [
    ['user_id', 'E-Mail'],
    { identity_type: 'user_id', identity_value: ['a', 'b'] },
    { keys: ['age', 'name'] },
    {
      ...{ checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12', content_type: 'text/csv', clear_marker: '#N/A' },
      ...{ profile_types: { zip: 'string' }, dry_run: true, new_keys: 'refuse', file_name: 'people.csv' },
    },
    { profile_keys: [{ key: 'age', type: 'int' }] },
    [{ name: 'ID', key: 'user_id', left_out: false, form: 'as-is' }],
    { user_id: 'u1', user_profiles: [{ key: 'at', type: 'datetime', value: '2026-01-01T00:00:00Z' }] },
    { user_ids: ['a', 'b'] },
  ].map((body) => JSON.stringify(body)),
  check(input) {
    const text = input.toString()
    const value = parsedOr(text)
    for (const [name, checkOf] of Object.entries(checks)) {
      const answer = checkOf(value)
      checkMessages(answer, name)
      assert.deepEqual(checkOf(parsedOr(text)), answer)
    }
    checkMessages(checkRequest(importListQuery, { state: text, limit: text, cursor: text }), 'list')
    checkColumnMapping(text)
    const problem = clearMarkerProblem(text)
    assert(problem === undefined || problem.length > 0)
  },
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function checkMessages(answer: unknown, name: string): void {
  if (typeof answer !== 'object' || answer === null || !('messages' in answer)) return
  const { messages } = answer
  assert(Array.isArray(messages) && messages.length > 0 && messages.length <= 100, `${name} refuses without messages`)
  for (const message of messages) assert(typeof message === 'string' && message !== '', `${name} has no text`)
}

/** An accepted mapping names only columns of the file. */
function checkColumnMapping(text: string): void {
  const columns = parseColumnNames(text) ?? ['user_id', 'a']
  const mapping = parseColumnMapping(text, columns)
  for (const { name } of mapping ?? []) assert(columns.includes(name), 'a mapping names another column')
}
