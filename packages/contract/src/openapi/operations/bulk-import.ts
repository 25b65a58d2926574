import { errors } from '../../errors.ts'
import { parseImportRequest } from '../../import.ts'
import { limits } from '../../limits.ts'
import type { PathItem } from '../document-types.ts'
import { type ErrorCase, json, jsonBodyErrors, success, tokenResponses } from '../responses.ts'
import { csvRules } from './csv-rules.ts'

const checksum = 'XrY7u+Ae7tCTyyK7j1rNww=='

const descriptor = {
  direct_upload: {
    url: 'https://storage.example.com/sluice/apps/7/imports/0b9d4d1e-7f0c-4c7e-9d6e-0f6d7f3f2a11/upload?X-Amz-Signature=6f1e',
    headers: { 'Content-Type': 'text/csv', 'Content-MD5': checksum },
  },
}

const view = {
  import_id: '0b9d4d1e-7f0c-4c7e-9d6e-0f6d7f3f2a11',
  state: 'completed',
  source: 'v3',
  rows_total: 1000,
  rows_applied: 998,
  rows_failed: 2,
  error: null,
  error_file_url: 'https://api.example.com/error_files/0b9d4d1e.c2VjcmV0',
  types: { name: 'string', age: 'int' },
  requested_at: '2026-03-01T09:00:00.000Z',
  started_at: '2026-03-01T09:00:05.120Z',
  finished_at: '2026-03-01T09:00:06.480Z',
}

const importIdParameter = {
  name: 'import_id',
  in: 'path',
  required: true,
  description: 'What `X-Import-Id` said.',
  schema: { type: 'string', format: 'uuid' },
  example: view.import_id,
} as const

const unknown: ErrorCase = { name: 'unknown', when: 'The app has no such import.', answer: errors.notFound() }

/** An invalid first request, answered in the words of its own check. */
function refused(name: string, when: string, body: unknown): ErrorCase {
  const parsed = parseImportRequest(body)
  return { name, when, answer: errors.badRequest(...('messages' in parsed ? parsed.messages : [])) }
}

const csvLimit = limits.uploadBytes['text/csv']

const invalidRequests = [
  refused('checksum', 'The checksum is not the base64 text of an MD5 digest.', { checksum: 'x', byte_size: '12' }),
  refused('no_checksum', 'There is no checksum.', { byte_size: '12' }),
  refused('no_byte_size', 'There is no size.', { checksum }),
  refused('byte_size', 'The size is not a positive integer.', { checksum, byte_size: '-1' }),
  refused('too_large', 'The file is over the limit of its type.', { checksum, byte_size: String(csvLimit + 1) }),
  refused('content_type', 'The type of the file is not known.', {
    checksum,
    byte_size: '12',
    content_type: 'text/plain',
  }),
  refused('dry_run', 'It says neither yes nor no to a dry run.', { checksum, byte_size: '12', dry_run: 'yes' }),
  refused('no_object', 'The body is not a JSON object.', []),
]

const notJson = { name: 'not_json', when: 'The body is not JSON.', answer: errors.malformedJson() }

/** `/v3/user_profiles/bulk_import`. */
export const bulkImportPath: PathItem = {
  post: {
    operationId: 'requestBulkImport',
    tags: ['Bulk import'],
    summary: 'Bulk import, first request: announce a file',
    description: [
      'Announces a CSV file, or a gzip-compressed one, and answers with an address to upload it to. Then send the file',
      'as the body of a `PUT` to `direct_upload.url` with exactly the headers of `direct_upload.headers`; storage answers',
      '200. That request needs no token, must begin within 5 minutes, and is refused by storage (400 or 403, with an XML',
      'body) where content, size, type or signature are others than announced.',
      '',
      'Files of one app are processed in the order of their first requests, and a mail tells the result.',
      '',
      csvRules,
    ].join('\n'),
    security: [{ token: [] }],
    requestBody: {
      required: true,
      description: 'The file that is to come: at most 1 GiB as CSV, 100 MiB as gzip.',
      content: json('ImportRequest', { checksum, byte_size: '12', content_type: 'text/csv' }),
    },
    responses: tokenResponses(
      {
        200: success('The import has its place in the line; the file may come.', json('UploadDescriptor', descriptor), {
          'X-Import-Id': {
            description: 'The import, to ask for its state. An extension of Sluice.',
            schema: { type: 'string', format: 'uuid' },
            required: true,
          },
        }),
      },
      [...invalidRequests, notJson, ...jsonBodyErrors(limits.importRequestBytes)],
    ),
  },
}

/** `/v3/user_profiles/bulk_import/{import_id}`. */
export const importStatusPath: PathItem = {
  get: {
    operationId: 'getImport',
    tags: ['Bulk import'],
    summary: 'State of an import',
    description: [
      'Extension of Sluice. How far an import is, whichever way its file came: `awaiting_upload` until the file is there,',
      '`queued` until it is its turn, `processing`, then `completed` or `failed`; `expired` where the file never came,',
      '`cancelled` where somebody did that.',
      '`error_file_url` is there where rows could not be applied: a CSV file of those rows and why.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    parameters: [importIdParameter],
    responses: tokenResponses({ 200: success('The import as it stands.', json('Import', view)) }, [unknown]),
  },
  delete: {
    operationId: 'cancelImport',
    tags: ['Bulk import'],
    summary: 'Cancel an import',
    description: [
      'Extension of Sluice. Cancels an import that waits or runs. What it has applied stays, and `rows_applied` says how',
      'many rows that are; the next import goes on at once. Asking again changes nothing. The result mail follows, and',
      '`error_file_url` where rows that had been read could not be applied.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    parameters: [importIdParameter],
    responses: tokenResponses(
      {
        200: success('The import is cancelled.', json('Import', { ...view, state: 'cancelled', error_file_url: null })),
      },
      [unknown, { name: 'ended', when: 'The import has ended otherwise.', answer: errors.importEnded('completed') }],
    ),
  },
}
