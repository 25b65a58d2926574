import type { Case, Step } from '../case.ts'

const file = { name: 'people.csv', text: 'user_id,n\nalice,1\n' }
const large = { name: 'large.csv', rows: 4_000 } // 1 MB

const refusal = (status: number, code: string, message: string): Step => ({
  status,
  body: `<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
})
const expired = refusal(403, 'AccessDenied', 'Request has expired')
const slowDown: Step = { status: 503, headers: { 'Retry-After': '0' }, body: '<Error><Code>SlowDown</Code></Error>' }

const completed = { result: { state: 'completed', rows_applied: 1 } }
const importExpired: Step = { merge: { state: 'expired' } }

/** The second request of an import: uploads that break off, and addresses that expire. */
export const uploadCases: readonly Case[] = [
  {
    name: 'an upload that breaks off twice is sent again to the same address, and its rows are applied once',
    users: 4_000,
    call: { call: 'import_file', file: large },
    server: { upload: ['cut', { cutAfter: 500_000 }] },
    outcome: { result: { state: 'completed', rows_total: 4_000, rows_applied: 4_000 } },
    requests: { announce: 1, upload: 3 },
    imports: 1,
  },
  {
    name: 'an upload that storage cannot accept now is repeated',
    call: { call: 'import_file', file },
    server: { upload: [slowDown, { status: 429 }, refusal(400, 'RequestTimeout', 'no bytes')] },
    outcome: completed,
    requests: { announce: 1, upload: 4 },
  },
  {
    name: 'storage may answer before it has read the file',
    users: 4_000,
    call: { call: 'import_file', file: large },
    server: { upload: [{ status: 503, isEarly: true }] },
    outcome: { result: { state: 'completed', rows_applied: 4_000 } },
    requests: { upload: 2 },
  },
  {
    name: 'if the answer of storage is lost, the file is sent again, and applied once',
    call: { call: 'import_file', file },
    server: { upload: ['lose answer'] },
    outcome: { result: { state: 'completed', rows_applied: 1 } },
    imports: 1,
  },
  {
    name: 'if the address has expired, a first request with the same key returns a new one for the same import',
    call: { call: 'import_file', file },
    server: { upload: [expired] },
    outcome: completed,
    requests: { announce: 2, upload: 2 },
    keys: { announce: 1 },
    imports: 1,
  },
  {
    name: 'an outage during the renewal of an address has the patience for outages',
    patience: 0,
    call: { call: 'import_file', file },
    server: { upload: [expired], show: ['cut'], announce: ['pass', 'cut', { status: 503 }] },
    outcome: completed,
    requests: { announce: 4, upload: 2 },
    imports: 1,
  },
  {
    name: 'if the import has expired as well, another import replaces it',
    call: { call: 'upload', file },
    server: { upload: [expired], show: [importExpired] },
    outcome: { result: /^[0-9a-f-]{36}$/ },
    requests: { announce: 2, upload: 2 },
    keys: { announce: 2 },
    imports: 2,
  },
  {
    name: 'if the address of the replacement has expired, its own key returns the new one',
    call: { call: 'upload', file },
    server: { upload: [expired, 'cut', expired], show: [importExpired] },
    outcome: { result: /^[0-9a-f-]{36}$/ },
    requests: { announce: 3, upload: 4 },
    keys: { announce: 2 },
    imports: 2,
  },
  {
    name: 'the same key begins only one replacement of an expired import',
    before: { call: 'upload', file, options: { idempotency_key: 'own' } },
    serverBefore: { upload: [expired], show: [importExpired] },
    call: { call: 'upload', file, options: { idempotency_key: 'own' } },
    server: { upload: [expired, expired], show: [importExpired] },
    outcome: { result: /^[0-9a-f-]{36}$/ },
    requests: { announce: 2, upload: 2 },
    imports: 2,
  },
  {
    name: 'if the file has arrived although the answer was lost, an expired address ends the upload',
    call: { call: 'import_file', file },
    server: { upload: ['lose answer', expired] },
    outcome: completed,
    requests: { announce: 1, upload: 2 },
  },
  {
    name: 'the same holds after two expired addresses',
    call: { call: 'import_file', file },
    server: { upload: [expired, 'lose answer', expired] },
    outcome: completed,
    requests: { announce: 2, upload: 3 },
  },
  {
    name: 'a new address that storage refuses, too, is an error with the message of storage',
    call: { call: 'upload', file },
    server: { upload: [expired, expired] },
    outcome: { error: { kind: 'upload', status: 403, code: 'AccessDenied', messages: [/Request has expired/] } },
    requests: { announce: 2, upload: 2 },
  },
  {
    name: 'an address that storage refuses before it has expired is an error',
    call: { call: 'upload', file },
    server: { upload: [expired], announce: ['pass', 'first answer'] },
    outcome: { error: { kind: 'upload', status: 403 } },
    requests: { announce: 2, upload: 1 },
  },
  {
    name: 'a file that has changed since its checksum is not sent again',
    call: { call: 'upload', file },
    server: { upload: [refusal(400, 'BadDigest', 'The digest does not match')] },
    outcome: { error: { kind: 'upload', status: 400, code: 'BadDigest' } },
    requests: { upload: 1 },
  },
  {
    name: 'an import whose file cannot be sent is cancelled, so that later ones need not wait for it',
    call: { call: 'upload', file },
    server: { upload: [refusal(400, 'BadDigest', 'The digest does not match')] },
    outcome: { error: { kind: 'upload', status: 400 } },
    requests: { withdraw: 1 },
  },
  {
    name: 'with a key of the caller it is not cancelled, because the same call may send the file later',
    call: { call: 'upload', file, options: { idempotency_key: 'own' } },
    server: { upload: [refusal(400, 'BadDigest', 'The digest does not match')] },
    outcome: { error: { kind: 'upload', status: 400 } },
    requests: { withdraw: 0 },
  },
  {
    name: 'an import whose file has arrived is not cancelled, whatever storage answers',
    call: { call: 'upload', file },
    server: {
      upload: [refusal(400, 'BadDigest', 'The digest does not match')],
      show: [{ merge: { state: 'queued' } }],
    },
    outcome: { error: { kind: 'upload', status: 400 } },
    requests: { withdraw: 0 },
  },
]
