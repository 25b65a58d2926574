import type { Case } from '../case.ts'

const users = ['alice', 'bob']
const age = { key: 'age', type: 'int', value: 34 }
const ids = (count: number) => Array.from({ length: count }, (_, index) => `user-${index}`)
const event = '{"type":"import.completed","timestamp":"2026-03-01T09:00:00.000Z","data":{"é":"ü"}}'

/** Everything but imports: users, values, exports and webhooks. */
export const otherCases: readonly Case[] = [
  {
    name: 'user IDs are sent in requests of 10,000, each with a key of its own',
    users: [],
    call: { call: 'register_users', user_ids: ids(20_001) },
    outcome: { result: null },
    requests: { users: 3 },
    keys: { users: 3 },
    batches: [10_000, 10_000, 1],
  },
  {
    name: 'a request with user IDs is repeated with its key',
    users: [],
    call: { call: 'register_users', user_ids: ids(10_001) },
    server: { users: ['pass', 'lose answer', { status: 503 }] },
    outcome: { result: null },
    requests: { users: 4 },
    keys: { users: 2 },
    batches: [10_000, 1],
  },
  {
    name: 'a refused user ID is an error',
    call: { call: 'register_users', user_ids: [''] },
    outcome: { error: { kind: 'api', status: 400, messages: [/user_ids\[0\] must not be empty/] } },
    requests: { users: 1 },
  },
  {
    name: 'no user ID is no request',
    call: { call: 'register_users', user_ids: [] },
    outcome: { result: null },
    requests: { users: 0 },
  },
  {
    name: 'deletions are requested in batches, and repeated with their keys',
    call: { call: 'request_deletion', user_ids: ids(10_001) },
    server: { deletions: [{ status: 429, headers: { 'Retry-After': '0' } }, 'lose answer'] },
    outcome: { result: null },
    requests: { deletions: 4 },
    keys: { deletions: 2 },
    batches: [10_000, 1],
  },
  {
    name: 'a profile update returns what is stored, and is repeated after failures',
    call: { call: 'update_profile', user_id: 'alice', entries: [age] },
    server: { profile: [{ status: 503 }, 'lose answer'] },
    outcome: { result: { user_id: 'alice', user_profiles: [age] } },
    requests: { profile: 3 },
  },
  {
    name: 'an update of an unknown user is an error with code 1002',
    call: { call: 'update_profile', user_id: 'nobody', entries: [age] },
    outcome: { error: { kind: 'api', status: 400, code: 1002 } },
    requests: { profile: 1 },
  },
  {
    name: 'a value of another type is an error with code 1003',
    call: { call: 'update_profile', user_id: 'alice', entries: [{ ...age, value: 'x' }] },
    outcome: { error: { kind: 'api', status: 400, code: 1003, messages: ['age should be integer'] } },
  },
  {
    name: 'an export is requested once, whatever fails, and its file is complete',
    users,
    before: { call: 'update_profile', user_id: 'bob', entries: [age] },
    call: { call: 'export', keys: ['age'] },
    server: { exports: ['lose answer'], export: ['cut', { status: 503 }], link: [{ status: 503 }], storage: ['cut'] },
    outcome: { result: { state: 'completed' } },
    requests: { exports: 2 },
    keys: { exports: 1 },
    exported: /^user_id,age\nalice,.*\nbob,34\n/,
  },
  {
    name: 'a download that breaks off goes on',
    users,
    before: { call: 'update_profile', user_id: 'bob', entries: [age] },
    call: { call: 'export', keys: ['age'] },
    server: { storage: [{ cutAnswerAfter: 10 }, { cutAnswerAfter: 10 }] },
    outcome: { result: { state: 'completed' } },
    requests: { exports: 1, storage: 3 },
    exported: /^user_id,age\nalice,.*\nbob,34\n/,
  },
  {
    name: 'an export of an unknown key is an error',
    call: { call: 'export', keys: ['unregistered'] },
    outcome: { error: { kind: 'api', status: 400, messages: [/unregistered/] } },
    requests: { exports: 1 },
  },
  {
    name: 'a signed webhook is accepted',
    call: { call: 'verify_webhook', age: 0, signedBody: event, body: event },
    outcome: { result: JSON.parse(event) },
  },
  {
    name: 'an altered webhook is refused',
    call: { call: 'verify_webhook', age: 0, signedBody: event, body: event.replace('ü', 'u') },
    outcome: { error: { kind: 'other' } },
  },
  {
    name: 'an old webhook is refused',
    call: { call: 'verify_webhook', age: 400, signedBody: event, body: event },
    outcome: { error: { kind: 'other' } },
  },
]
