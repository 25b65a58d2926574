import { errors } from '../../errors.ts'
import { parseImportRequest } from '../../import.ts'
import { fileMessages } from '../../import-messages.ts'
import { refusedTypes } from '../../import-options.ts'
import { limits } from '../../limits.ts'
import type { PathItem } from '../document-types.ts'
import { acceptsKey } from '../idempotency.ts'
import { type ErrorCase, json, jsonBodyErrors, success, tokenResponses } from '../responses.ts'
import { csvRules } from './csv-rules.ts'
import { importListPath, view } from './import-list.ts'

const checksum = 'XrY7u+Ae7tCTyyK7j1rNww=='

const descriptor = {
  direct_upload: {
    url: 'https://storage.example.com/sluice/apps/7/imports/0b9d4d1e-7f0c-4c7e-9d6e-0f6d7f3f2a11/upload?X-Amz-Signature=6f1e',
    headers: { 'Content-Type': 'text/csv', 'Content-MD5': checksum },
  },
}

const importIdParameter = {
  name: 'import_id',
  in: 'path',
  required: true,
  description: 'The ID in `X-Import-Id`.',
  schema: { type: 'string', format: 'uuid' },
  example: view.import_id,
} as const

const unknown: ErrorCase = { name: 'unknown', when: 'The app has no such import.', answer: errors.notFound() }

/** Returns the case of an invalid first request, with the messages of the real check. */
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
  refused('dry_run', 'The value of dry_run is not a boolean.', { checksum, byte_size: '12', dry_run: 'yes' }),
  refused('profile_types', 'A declared type is not known, or its key is not valid.', {
    checksum,
    byte_size: '12',
    profile_types: { zip: 'text', user_id: 'string' },
  }),
  refused('new_keys', 'The value of new_keys is not known.', { checksum, byte_size: '12', new_keys: 'ignore' }),
  refused('clear_marker', 'The clear marker is not valid.', { checksum, byte_size: '12', clear_marker: 'a,b' }),
  refused('file_name', 'The name of the file is too long.', {
    checksum,
    byte_size: '12',
    file_name: 'x'.repeat(limits.fileNameLength + 1),
  }),
  {
    name: 'registered_type',
    when: 'A declared key is registered with another type.',
    answer: errors.badRequest(...refusedTypes([fileMessages.otherType('age', 'int')])),
  },
  refused('no_object', 'The body is not a JSON object.', []),
]

const notJson = { name: 'not_json', when: 'The body is not JSON.', answer: errors.malformedJson() }

/** `/v3/user_profiles/bulk_import`. */
export const bulkImportPath: PathItem = {
  ...importListPath,
  post: acceptsKey({
    operationId: 'requestBulkImport',
    tags: ['Bulk import'],
    summary: 'Bulk import, first request: announce a file',
    description: [
      'Announces a CSV file, plain or gzip-compressed. The answer has an address for its upload. Then send the file as the',
      'body of a `PUT` to `direct_upload.url`, with exactly the headers in `direct_upload.headers`. Storage answers 200. This',
      'second request needs no token and must begin within 5 minutes. Storage refuses it (400 or 403, with an XML body) if',
      'content, size, type or signature differ from the announcement.',
      '',
      'Optional members are extensions of Sluice. `profile_types` declares types, so that none is inferred. `new_keys` says whether',
      'unknown columns are registered or refused. `clear_marker` is the text of cells that remove a value. If a declared key is',
      'registered with another type meanwhile, the import fails with `zip is registered as int`; if a declared column is missing,',
      'with `declared columns are missing: zipp`; if columns are refused, with `profile keys are not registered: a, b`.',
      '',
      'Files of one app are processed in the order of their first requests. A mail reports the result of each import.',
      '',
      csvRules,
    ].join('\n'),
    security: [{ token: [] }],
    requestBody: {
      required: true,
      description: 'The announced file: at most 1 GiB as CSV, 100 MiB as gzip.',
      content: json('ImportRequest', {
        checksum,
        byte_size: '12',
        content_type: 'text/csv',
        profile_types: { zip: 'string' },
        file_name: 'people.csv',
      }),
    },
    responses: tokenResponses(
      {
        200: success(
          'The import has its place in the order of requests. The file can be uploaded.',
          json('UploadDescriptor', descriptor),
          {
            'X-Import-Id': {
              description: 'ID of the import, for requests of its state. Extension of Sluice.',
              schema: { type: 'string', format: 'uuid' },
              required: true,
            },
          },
        ),
      },
      [...invalidRequests, notJson, ...jsonBodyErrors(limits.jsonBytes)],
    ),
  }),
}

/** `/v3/user_profiles/bulk_import/{import_id}`. */
export const importStatusPath: PathItem = {
  get: {
    operationId: 'getImport',
    tags: ['Bulk import'],
    summary: 'State of an import',
    description: [
      'Extension of Sluice. The progress of an import from any upload route. Its state is `awaiting_upload` until the file is',
      'uploaded, `queued` until the import is next in order, `processing`, and finally `completed` or `failed`. It is `expired`',
      'if the file was never uploaded, and `cancelled` if the import was cancelled.',
      'If rows could not be applied, `error_file_url` links to a CSV file of these rows with the reasons.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    parameters: [importIdParameter],
    responses: tokenResponses({ 200: success('The current state of the import.', json('Import', view)) }, [unknown]),
  },
  delete: {
    operationId: 'cancelImport',
    tags: ['Bulk import'],
    summary: 'Cancel an import',
    description: [
      'Extension of Sluice. Cancels a waiting or running import. Rows that were applied stay applied; `rows_applied` is their',
      'number. The next import starts at once. Repeating the request changes nothing. The result mail is sent as usual.',
      '`error_file_url` is set if rows that had been read could not be applied.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    parameters: [importIdParameter],
    responses: tokenResponses(
      {
        200: success('The import is cancelled.', json('Import', { ...view, state: 'cancelled', error_file_url: null })),
      },
      [
        unknown,
        {
          name: 'ended',
          when: 'The import has already ended without being cancelled.',
          answer: errors.importEnded('completed'),
        },
      ],
    ),
  },
}
