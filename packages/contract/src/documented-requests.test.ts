import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { checkRequest, documented } from './check.ts'
import { importCursor, importListQuery, importWaitQuery } from './import-list.ts'
import { importRequest } from './import-request.ts'
import { keyChange, keyRegistration } from './profile-keys.ts'

const checksum = 'XrY7u+Ae7tCTyyK7j1rNww=='
const valid = { checksum, byte_size: '12' }
const zip = { key: 'zip', type: 'string' }
const long = 'x'.repeat(256)

interface Member {
  description?: string
  example?: unknown
}

/** Returns the documented members of a request, whether or not its schema has an ID. */
function membersOf(schema: z.ZodType): Record<string, Member> {
  const { properties, $defs } = documented(schema) as {
    properties?: Record<string, Member>
    $defs?: Record<string, { properties: Record<string, Member> }>
  }
  return properties ?? Object.values($defs ?? {})[0]?.properties ?? {}
}

interface Sample {
  schema: z.ZodType
  accepted: readonly object[]
  refused: readonly object[]
}

const samples: Record<string, Sample> = {
  'the first request of an import': {
    schema: importRequest,
    accepted: [
      valid,
      { checksum, byte_size: 12 },
      ...['text/csv', 'application/gzip'].map((content_type) => ({ ...valid, content_type })),
      ...[true, false].map((flag) => ({ ...valid, dry_run: flag, keep_changes: flag })),
      { ...valid, profile_types: { a: 'string', b: 'int', c: 'decimal', d: 'datetime' }, new_keys: 'register' },
      { ...valid, new_keys: 'refuse', hold_if: 'always', clear_marker: 'x'.repeat(32), file_name: 'x'.repeat(255) },
      { ...valid, hold_if: 'never' },
      { ...valid, hold_if: { failed_percent: 0, changed_percent: 100, removed_percent: 0.5, new_keys: 0 } },
    ],
    refused: [
      { checksum },
      { byte_size: '12' },
      ...[7, checksum.slice(1), `${checksum}=`].map((each) => ({ ...valid, checksum: each })),
      ...[true, '', 'x', '1x', 'x1', '1'.repeat(16), 0.5, 0].map((byte_size) => ({ ...valid, byte_size })),
      ...[7, 'text/plain'].map((content_type) => ({ ...valid, content_type })),
      ...['true', 1].flatMap((flag) => [
        { ...valid, dry_run: flag },
        { ...valid, keep_changes: flag },
      ]),
      ...['x', 7, { zip: 'text' }, { zip: 7 }].map((profile_types) => ({ ...valid, profile_types })),
      ...['x', true].map((new_keys) => ({ ...valid, new_keys })),
      ...['often', 7, {}, { rows: 1 }, { new_keys: -1 }, { new_keys: 0.5 }].map((hold_if) => ({ ...valid, hold_if })),
      ...['failed', 'changed', 'removed'].flatMap((name) =>
        [-1, 101, '1'].map((bound) => ({ ...valid, hold_if: { [`${name}_percent`]: bound } })),
      ),
      ...[7, '', 'a,b', 'a"', 'a\n', 'x'.repeat(33)].map((clear_marker) => ({ ...valid, clear_marker })),
      ...[7, long].map((file_name) => ({ ...valid, file_name })),
    ],
  },
  'a page of imports': {
    schema: importListQuery,
    accepted: [{}, { state: 'failed', source: 'undo', limit: 1, cursor: importCursor(1) }, { limit: 100 }],
    refused: [{ state: 'x' }, { source: 'x' }, { limit: 0 }, { limit: 101 }, { limit: 0.5 }, { cursor: 7 }],
  },
  'a wait for another state': {
    schema: importWaitQuery,
    accepted: [{}, { wait: 1 }, { wait: 30, state: 'queued' }],
    refused: [{ wait: 0 }, { wait: 31 }, { wait: 0.5 }, { state: 'x' }],
  },
  'a registration of keys': {
    schema: keyRegistration,
    accepted: [{ profile_keys: [zip] }, { profile_keys: Array.from({ length: 500 }, () => zip) }],
    refused: [
      {},
      { profile_keys: {} },
      ...[[], [7], [{ key: 'zip' }], [{ type: 'int' }], [{ ...zip, type: 'text' }]].map((profile_keys) => ({
        profile_keys,
      })),
      ...['', 7, long].map((key) => ({ profile_keys: [{ ...zip, key }] })),
      { profile_keys: Array.from({ length: 501 }, () => zip) },
    ],
  },
  'a change of a key': {
    schema: keyChange,
    accepted: [{ enabled: false }, { description: null }, { enabled: true, description: 'x'.repeat(255) }],
    refused: [{ enabled: 1 }, { description: 7 }, { description: long }, { enabled: true, type: 'int' }],
  },
}

describe.each(Object.entries(samples))('the documented form of %s', (_, { schema, accepted, refused }) => {
  const document = z.fromJSONSchema(documented(schema))

  test('accepts and refuses what the check accepts and refuses', () => {
    const verdicts = (given: object) => [document.safeParse(given).success, 'value' in checkRequest(schema, given)]
    for (const given of accepted) expect(verdicts(given), JSON.stringify(given)).toEqual([true, true])
    for (const given of refused) expect(verdicts(given), JSON.stringify(given)).toEqual([false, false])
  })
  test('describes each member in a sentence, and its examples are accepted', () => {
    const members = Object.entries(membersOf(schema))
    expect(members.length).toBeGreaterThan(0)
    for (const [name, { description, example }] of members) {
      expect(description, name).toMatch(/^.+\.$/)
      expect(example, name).not.toBe('')
      if (example !== undefined) expect(checkRequest(schema, { [name]: example }), name).toHaveProperty('value')
    }
  })
})
