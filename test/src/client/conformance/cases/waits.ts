import type { Case, Step } from '../case.ts'

const file = { name: 'people.csv', text: 'user_id,n\nalice,1\n' }

const expired: Step = { merge: { state: 'expired', finished_at: '2026-03-01T09:00:00.000Z' } }

/** The wait for the end of an import, and the states in which it ends. */
export const waitCases: readonly Case[] = [
  {
    name: 'a wait survives lost connections, 429, 5xx and slow answers, whatever the patience of one request',
    patience: 0,
    call: { call: 'import_file', file },
    server: { show: ['cut', { status: 500 }, { status: 429, headers: { 'Retry-After': '1' } }, { delayMs: 1_500 }] },
    outcome: { result: { state: 'completed', rows_applied: 1 } },
    requests: { announce: 1, upload: 1 },
  },
  {
    name: 'a program can wait for an import that another one has uploaded',
    before: { call: 'upload', file },
    call: { call: 'wait_for_import' },
    outcome: { result: { state: 'completed', rows_applied: 1 } },
    requests: { announce: 0, upload: 0 },
  },
  {
    name: 'an import that expired during a slow upload is awaited, because storage has its file',
    call: { call: 'import_file', file },
    server: { show: [expired, expired] },
    outcome: { result: { state: 'completed', rows_applied: 1 } },
    imports: 1,
  },
  {
    name: 'an expired import whose file this call has not sent has ended',
    before: { call: 'upload', file },
    call: { call: 'wait_for_import' },
    server: { show: [expired] },
    outcome: { result: { state: 'expired' } },
    requests: { show: 1 },
  },
  {
    name: 'an unknown import is an error of 404',
    call: { call: 'wait_for_import', import_id: '11111111-1111-4111-8111-111111111111' },
    outcome: { error: { kind: 'api', status: 404, messages: ['Not found.'] } },
    requests: { show: 1 },
  },
  {
    name: 'invalid rows are counted, and are no error',
    call: { call: 'import_file', file: { ...file, text: 'user_id,n\nalice,1\nnobody,2\n' } },
    outcome: { result: { state: 'completed', rows_applied: 1, rows_failed: 1, error_file_url: /^https?:/ } },
  },
  {
    name: 'a dry run applies nothing',
    call: { call: 'import_file', file, options: { dry_run: true } },
    outcome: { result: { state: 'completed', dry_run: true, rows_total: 1 } },
    announced: { dry_run: true },
  },
  {
    name: 'declared types reach the API',
    call: {
      call: 'import_file',
      file: { ...file, text: 'user_id,zip\nalice,007\n' },
      options: { profile_types: { zip: 'string' } },
    },
    outcome: { result: { types: { zip: 'string' } } },
  },
  {
    name: 'a failed import is an error with its reason',
    call: { call: 'import_file', file: { ...file, text: 'n\n1\n' } },
    outcome: { error: { kind: 'import_failed', state: 'failed', messages: [/user_id column is required/] } },
  },
  {
    name: 'a held import is an error, and the wait ends',
    call: { call: 'import_file', file, options: { hold_if: 'always' } },
    outcome: { error: { kind: 'import_failed', state: 'held' } },
  },
  {
    name: 'a cancelled import is an error',
    before: { call: 'upload', file: { ...file, name: 'held.csv' }, options: { hold_if: 'always' } },
    call: { call: 'import_file', file },
    server: { show: ['cancel'] },
    outcome: { error: { kind: 'import_failed', state: 'cancelled' } },
  },
]
