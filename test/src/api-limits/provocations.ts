import { gzipSync } from 'node:zlib'

/** Changes to a valid request with a token. */
export interface Provocation {
  headers?: Record<string, string>
  body?: string | Buffer
  /** Replaces the path's last parameter. */
  parameter?: string
  /** Follows the path. */
  query?: string
}

const json = (value: unknown): Provocation => ({ body: JSON.stringify(value) })
const csv = (body: string | Buffer): Provocation => ({ body })
const gzip = (body: Buffer): Provocation => ({ body, headers: { 'Content-Type': 'application/gzip' } })

const name = { key: 'name', type: 'string', value: 'Alice' }
const update = (entry: object): Provocation => json({ user_id: 'alice', user_profiles: [entry] })
const checksum = 'XrY7u+Ae7tCTyyK7j1rNww=='
/** Makes more names than an app may have keys. */
const numbered = (prefix: string) => Array.from({ length: 501 }, (_, index) => `${prefix}${index}`).join(',')

/** Names of 500 keys. Together with the keys in the document's examples, these exceed the limit of an app. */
const keys = Array.from({ length: 500 }, (_, index) => `key${index}`)

const notJson: Provocation = { body: '{' }
const wrongType: Provocation = { body: 'x', headers: { 'Content-Type': 'text/plain' } }
const encodedBody: Provocation = { headers: { 'Content-Encoding': 'gzip' } }
const overOneMiB: Provocation = { body: ' '.repeat(2 ** 20 + 1) }
/** Of a document that stays the same. */
const unlessKnown = { 200: {}, 304: { headers: { 'If-None-Match': '*' } } }
const manyValues: Provocation = { body: `[${'1,'.repeat(2 ** 17)}1]` }

/**
 * Imports that the test must insert, each with an error file. The link of `linked` is valid; the other links have
 * expired.
 */
export const imports = {
  linked: { importId: crypto.randomUUID(), secret: 's'.repeat(32), linkExpires: '2100-01-01' },
  expired: { importId: crypto.randomUUID(), secret: 'e'.repeat(32), linkExpires: '2020-01-01' },
  cancelled: { importId: crypto.randomUUID(), secret: 'c'.repeat(32), linkExpires: '2020-01-01' },
  held: { importId: crypto.randomUUID(), secret: 'h'.repeat(32), linkExpires: '2020-01-01' },
}
const { linked, expired } = imports

/** Exports that the test must insert. The link of `linked` is valid; the other link has expired. */
export const exports = {
  linked: { exportId: crypto.randomUUID(), secret: 's'.repeat(32), linkExpires: '2100-01-01' },
  expired: { exportId: crypto.randomUUID(), secret: 'e'.repeat(32), linkExpires: '2020-01-01' },
}

/** An idempotency key that every function has used with another body. */
export const usedKey = 'used-key'

/** An idempotency key whose request every function has in flight. */
export const keyInFlight = 'key-in-flight'

const keyErrors = {
  invalid_idempotency_key: { headers: { 'Idempotency-Key': 'two words' } },
  idempotency_key_in_flight: { headers: { 'Idempotency-Key': keyInFlight } },
  idempotency_key_reused: { headers: { 'Idempotency-Key': usedKey } },
}

/** Requests that provoke each answer of an operation, by status or by the name of an error example. */
export const provocations: Record<string, Record<string, Provocation>> = {
  updateProfile: {
    202: {},
    not_json: notJson,
    no_user_id: json({ user_profiles: [name] }),
    no_profiles: json({ user_id: 'alice', user_profiles: [] }),
    no_object: json([]),
    unregistered: json({ user_id: 'nobody', user_profiles: [name] }),
    key: update({ ...name, key: '' }),
    standard: update({ ...name, key: '$name' }),
    type: update({ key: 'age', type: 'number', value: 34 }),
    value: update({ key: 'age', type: 'int', value: 'x' }),
    text: update({ ...name, value: '\0' }),
    registered_type: update({ key: 'age', type: 'string', value: 'x' }),
    disabled: update({ key: 'plan', type: 'string', value: 'x' }),
    large_body: overOneMiB,
    many_values: manyValues,
    wrong_type: wrongType,
    encoded_body: encodedBody,
  },
  registerUsers: {
    ...keyErrors,
    202: {},
    no_list: json({}),
    empty_list: json({ user_ids: [] }),
    invalid_id: json({ user_ids: ['alice', ''] }),
    no_object: json([]),
    not_json: notJson,
    large_body: { headers: { 'Content-Length': '99999999' } },
    many_values: manyValues,
    wrong_type: wrongType,
    encoded_body: encodedBody,
  },
  listProfileKeys: { 200: {} },
  registerProfileKeys: {
    ...keyErrors,
    200: {},
    no_list: json({}),
    empty_list: json({ profile_keys: [] }),
    long_list: json({ profile_keys: Array.from({ length: 501 }, () => ({ key: 'zip', type: 'string' })) }),
    type: json({ profile_keys: [{ key: 'zip', type: 'text' }] }),
    key: json({ profile_keys: [{ key: '', type: 'string' }] }),
    reserved: json({ profile_keys: [{ key: 'user_id', type: 'string' }] }),
    two_types: json({ profile_keys: ['string', 'int'].map((type) => ({ key: 'zip', type })) }),
    no_object: json([]),
    not_json: notJson,
    too_many_keys: json({ profile_keys: keys.map((key) => ({ key, type: 'string' })) }),
    registered_type: json({ profile_keys: [{ key: 'age', type: 'string' }] }),
    large_body: overOneMiB,
    many_values: manyValues,
    wrong_type: wrongType,
    encoded_body: encodedBody,
  },
  changeProfileKey: {
    200: {},
    empty: json({}),
    member: json({ type: 'int' }),
    enabled: json({ enabled: 'yes' }),
    description: json({ description: 'x'.repeat(256) }),
    unknown: { parameter: 'nothing' },
    too_many_keys: { parameter: 'plan', ...json({ enabled: true }) },
    no_object: json([]),
    not_json: notJson,
    large_body: overOneMiB,
    many_values: manyValues,
    wrong_type: wrongType,
    encoded_body: encodedBody,
  },
  removeValue: { 204: {}, unknown: { parameter: 'nothing' } },
  requestDeletion: {
    ...keyErrors,
    202: {},
    identity_type: json({ identity_type: 'email', identity_value: 'alice' }),
    no_identity_value: json({ identity_type: 'user_id' }),
    empty_list: json({ identity_type: 'user_id', identity_value: [] }),
    invalid_id: json({ identity_type: 'user_id', identity_value: ['alice', ''] }),
    no_object: json([]),
    not_json: notJson,
    large_body: { headers: { 'Content-Length': '99999999' } },
    many_values: manyValues,
    wrong_type: wrongType,
    encoded_body: encodedBody,
  },
  requestBulkImport: {
    ...keyErrors,
    200: {},
    checksum: json({ checksum: 'x', byte_size: '12' }),
    no_checksum: json({ byte_size: '12' }),
    no_byte_size: json({ checksum }),
    byte_size: json({ checksum, byte_size: '-1' }),
    too_large: json({ checksum, byte_size: String(2 ** 30 + 1) }),
    content_type: json({ checksum, byte_size: '12', content_type: 'text/plain' }),
    dry_run: json({ checksum, byte_size: '12', dry_run: 'yes' }),
    profile_types: json({ checksum, byte_size: '12', profile_types: { zip: 'text', user_id: 'string' } }),
    new_keys: json({ checksum, byte_size: '12', new_keys: 'ignore' }),
    keep_changes: json({ checksum, byte_size: '12', keep_changes: 'yes' }),
    hold_if: json({ checksum, byte_size: '12', hold_if: 'yes' }),
    clear_marker: json({ checksum, byte_size: '12', clear_marker: 'a,b' }),
    file_name: json({ checksum, byte_size: '12', file_name: 'x'.repeat(256) }),
    registered_type: json({ checksum, byte_size: '12', profile_types: { age: 'string' } }),
    no_object: json([]),
    not_json: notJson,
    large_body: overOneMiB,
    many_values: manyValues,
    wrong_type: wrongType,
    encoded_body: encodedBody,
  },
  getUser: { 200: {}, unknown: { parameter: '%00' } },
  listImports: {
    200: { query: '?limit=1' },
    state: { query: '?state=done' },
    source: { query: '?source=mail' },
    limit: { query: '?limit=0' },
    cursor: { query: '?cursor=x' },
  },
  getImport: {
    200: { parameter: linked.importId },
    wait: { parameter: linked.importId, query: '?wait=31' },
    unknown: { parameter: crypto.randomUUID() },
  },
  cancelImport: {
    200: { parameter: imports.cancelled.importId },
    unknown: { parameter: crypto.randomUUID() },
    ended: { parameter: linked.importId },
  },
  approveImport: {
    200: { parameter: imports.held.importId },
    unknown: { parameter: crypto.randomUUID() },
    not_held: { parameter: linked.importId },
  },
  undoImport: {
    ...keyErrors,
    202: { parameter: linked.importId },
    unknown: { parameter: crypto.randomUUID() },
    dry_run: json({ dry_run: 'yes' }),
    member: json({ dryrun: true }),
    not_kept: { parameter: expired.importId },
    no_object: json([]),
    not_json: notJson,
    large_body: overOneMiB,
    many_values: manyValues,
    wrong_type: wrongType,
    encoded_body: encodedBody,
  },
  bulkImportV2: {
    ...keyErrors,
    202: {},
    no_user_id: csv('name\nx\n'),
    empty: csv(''),
    large_header: csv(`user_id,${'x'.repeat(102_400)}\n`),
    no_newline: csv('user_id,name'),
    empty_columns: csv('user_id,\n'),
    not_utf8: csv(Buffer.from('user_id,n\xffme\na,b\n', 'latin1')),
    duplicates: csv('user_id,name,age,name,age\n'),
    not_gzip: gzip(Buffer.from('user_id,name\n')),
    corrupt: gzip(gzipSync('user_id,name\nalice,Alice\n').fill(0xff, 10, 20)),
    too_many_keys: csv(`user_id,${numbered('k')}\nalice,${numbered('')}\n`),
    standard: csv('user_id,$name\n'),
    large_file: { headers: { 'Content-Length': String(100 * 2 ** 20 + 1) } },
    wrong_type: wrongType,
  },
  requestExport: {
    ...keyErrors,
    202: {},
    no_list: json({ keys: 'name' }),
    empty_list: json({ keys: [] }),
    invalid_key: json({ keys: ['name', ''] }),
    repeated_key: json({ keys: ['name', 'name'] }),
    unregistered: json({ keys: ['nmae'] }),
    disabled: json({ keys: ['plan'] }),
    no_object: json([]),
    not_json: notJson,
    large_body: overOneMiB,
    many_values: manyValues,
    wrong_type: wrongType,
    encoded_body: encodedBody,
  },
  getExport: { 200: { parameter: exports.linked.exportId }, unknown: { parameter: crypto.randomUUID() } },
  getExportFile: {
    302: { parameter: `${exports.linked.exportId}.${exports.linked.secret}` },
    unknown: { parameter: `${exports.linked.exportId}.${exports.expired.secret}` },
    expired: { parameter: `${exports.expired.exportId}.${exports.expired.secret}` },
  },
  getErrorFile: {
    302: { parameter: `${linked.importId}.${linked.secret}` },
    unknown: { parameter: `${linked.importId}.${expired.secret}` },
    expired: { parameter: `${expired.importId}.${expired.secret}` },
  },
  getChangesFile: {
    302: { parameter: `${linked.importId}.${linked.secret}` },
    unknown: { parameter: `${linked.importId}.${expired.secret}` },
    expired: { parameter: `${expired.importId}.${expired.secret}` },
  },
  isLive: { 200: {} },
  isReady: { 200: {} },
  getMetrics: { 200: {} },
  getDocument: unlessKnown,
  getDocs: unlessKnown,
  getApiPage: unlessKnown,
  getApiMarkdown: unlessKnown,
  getGuidePage: unlessKnown,
  getGuideMarkdown: unlessKnown,
  getLlmsText: unlessKnown,
  getRoot: { 302: {} },
}
