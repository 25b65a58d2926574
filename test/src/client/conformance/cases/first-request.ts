import type { Case, Step } from '../case.ts'

const text = 'user_id,n\nalice,1\n'
const file = { name: 'people.csv', text }

const busy = (status: number, retryAfter: string): Step => ({
  status,
  headers: { 'Retry-After': retryAfter, 'Content-Type': 'application/json' },
  body: { error: { messages: ['wait'] } },
})
const page: Step = { status: 502, headers: { 'Content-Type': 'text/html' }, body: '<html>bad gateway</html>' }

const completed = { result: { state: 'completed', rows_applied: 1, rows_failed: 0 } }

/** The first request of an import: what it declares, and what is repeated. */
export const firstRequestCases: readonly Case[] = [
  {
    name: 'a file is imported; the first request declares checksum, size, type and name',
    call: { call: 'import_file', file },
    outcome: completed,
    requests: { announce: 1, upload: 1 },
    announced: {
      checksum: '77mmsl5BqFW1gDd5krlq9Q==',
      byte_size: '18',
      content_type: 'text/csv',
      file_name: 'people.csv',
    },
  },
  {
    name: 'after 429, the client waits as long as Retry-After says',
    call: { call: 'import_file', file },
    server: { announce: [busy(429, '1')] },
    outcome: completed,
    requests: { announce: 2 },
    keys: { announce: 1 },
    tookMs: 1_000,
  },
  {
    name: 'a moment of Retry-After that has passed is no reason to hurry, or to fail',
    call: { call: 'import_file', file },
    server: { announce: [busy(503, 'Thu, 01 Jan 1970 00:00:00 GMT')] },
    outcome: completed,
    requests: { announce: 2 },
    tookMs: 200,
  },
  {
    name: 'an error of 5xx is repeated, even if its body is a page',
    call: { call: 'import_file', file },
    server: { announce: [page, { status: 500 }] },
    outcome: completed,
    requests: { announce: 3 },
    keys: { announce: 1 },
  },
  {
    name: 'if the answer is lost, the repetition has the same key, and begins no second import',
    call: { call: 'import_file', file },
    server: { announce: ['lose answer', 'cut'] },
    outcome: completed,
    requests: { announce: 3, upload: 1 },
    keys: { announce: 1 },
    imports: 1,
  },
  {
    name: 'an answer that breaks off in its body is a lost answer',
    call: { call: 'import_file', file },
    server: { announce: [{ cutAnswerAfter: 20 }] },
    outcome: completed,
    requests: { announce: 2 },
    imports: 1,
  },
  {
    name: 'a request whose key is in flight is repeated',
    call: { call: 'import_file', file },
    server: { announce: [busy(409, '0')] },
    outcome: completed,
    requests: { announce: 2 },
    keys: { announce: 1 },
  },
  {
    name: 'a wait that exceeds the patience fails at once, and says how long it would be',
    call: { call: 'import_file', file },
    server: { announce: [busy(429, '600')] },
    outcome: { error: { kind: 'api', status: 429, messages: ['wait'], retry_after: 600 } },
    requests: { announce: 1 },
  },
  {
    name: 'a service that is down is an error of the network when the patience ends',
    patience: 0.5,
    call: { call: 'upload', file },
    server: { announce: Array<Step>(9).fill('cut') },
    outcome: { error: { kind: 'network' } },
  },
  {
    name: 'a slow answer is awaited, not asked for again',
    call: { call: 'import_file', file },
    server: { announce: [{ delayMs: 2_000 }] },
    outcome: completed,
    requests: { announce: 1 },
  },
  {
    name: 'a refusal is an error with its messages, and is not repeated',
    call: { call: 'import_file', file, options: { clear_marker: 'a,b' } },
    outcome: { error: { kind: 'api', status: 400, messages: [/clear_marker must not contain a comma/] } },
    requests: { announce: 1, upload: 0 },
  },
  {
    name: 'an empty file is refused before anything is sent',
    call: { call: 'import_file', file: { name: 'empty.csv', text: '' } },
    outcome: { error: { kind: 'other', messages: [/^the file is empty$/] } },
    requests: { announce: 0 },
  },
  {
    name: 'a wrong token is an error of 403',
    token: 'slc_1_wrong',
    call: { call: 'import_file', file },
    outcome: { error: { kind: 'api', status: 403, messages: ['The API token is invalid.'] } },
    requests: { announce: 1 },
  },
  {
    name: 'the same key and file begin one import',
    before: { call: 'upload', file, options: { idempotency_key: 'own' } },
    call: { call: 'import_file', file, options: { idempotency_key: 'own' } },
    outcome: completed,
    keys: { announce: 1 },
    imports: 1,
  },
  {
    name: 'the same key with another file is refused',
    before: { call: 'upload', file, options: { idempotency_key: 'own' } },
    call: { call: 'upload', file: { ...file, text: `${text}bob,2\n` }, options: { idempotency_key: 'own' } },
    outcome: { error: { kind: 'api', status: 422, messages: [/used for a request with another body/] } },
    imports: 1,
  },
  {
    name: 'a redirect is not followed: it would send the token to any address',
    call: { call: 'upload', file },
    server: { announce: [{ status: 307, headers: { Location: '/v1/users' } }] },
    outcome: { error: { kind: 'other' } },
    requests: { announce: 1, users: 0 },
  },
  {
    name: 'a page with status 200 is not from Sluice',
    call: { call: 'upload', file },
    server: { announce: [{ status: 200, body: '<html>' }] },
    outcome: { error: { kind: 'other' } },
    requests: { announce: 1 },
  },
  {
    name: 'an answer without an import is not from Sluice',
    call: { call: 'upload', file },
    server: { announce: [{ status: 200, body: {} }] },
    outcome: { error: { kind: 'other' } },
    requests: { announce: 1 },
  },
  {
    name: 'the type of a file follows its extension: gzip',
    call: { call: 'import_file', file: { name: 'people.csv.gz', gzip: text } },
    outcome: completed,
    announced: { content_type: 'application/gzip' },
  },
  {
    name: 'without a known extension, the type follows the first bytes',
    call: { call: 'import_file', file: { name: 'people', gzip: text } },
    outcome: completed,
    announced: { content_type: 'application/gzip', file_name: 'people' },
  },
  {
    name: 'the extension .csv decides, whatever the first bytes are',
    call: { call: 'upload', file: { name: 'people.csv', gzip: text } },
    outcome: { result: /^[0-9a-f-]{36}$/ },
    announced: { content_type: 'text/csv' },
  },
  {
    name: 'a name that is too long is cut to 255 characters',
    call: { call: 'import_file', file, options: { file_name: 'é'.repeat(300) } },
    outcome: { result: { file_name: 'é'.repeat(255) } },
  },
]
