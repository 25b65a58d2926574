import { errors } from '../../errors.ts'
import { fileMessages } from '../../import-messages.ts'
import { limits } from '../../limits.ts'
import type { Content, Header, PathItem } from '../document-types.ts'
import { acceptsKey } from '../idempotency.ts'
import { type ErrorCase, json, success, tokenResponses, tooManyBodies } from '../responses.ts'
import { csvRules } from './csv-rules.ts'

const file = (value: string): Content => ({
  schema: { type: 'string', format: 'binary' },
  examples: { example: { value } },
})

const types = { user_profile: { name: { type: 'string' }, age: { type: 'int' } } }

const text: Header['schema'] = { type: 'string' }

/** Headers of every answer: they announce the end of the endpoint. */
const deprecated: Record<string, Header> = {
  Deprecation: { description: 'Date of the deprecation (RFC 9745).', schema: text },
  Sunset: { description: 'Announced end of the endpoint (RFC 8594).', schema: text },
  Link: { description: 'The endpoint to use instead.', schema: text },
}

const refused = (name: string, when: string, message: string): ErrorCase => {
  return { name, when: `2001: ${when}`, answer: errors.fileRefused(message) }
}

const limit = limits.uploadBytesV2

const cases: ErrorCase[] = [
  refused('no_user_id', 'the column of user IDs is missing.', fileMessages.noUserIdColumn),
  refused('empty', 'the file is empty.', fileMessages.empty),
  refused('large_header', 'the header is too large.', fileMessages.headerTooLarge),
  refused('no_newline', 'the header has no line break.', fileMessages.noLineBreak),
  refused('empty_columns', 'a column has no name.', fileMessages.emptyColumns),
  refused('not_utf8', 'a name is not in UTF-8.', fileMessages.columnsNotUtf8('column 2')),
  refused('duplicates', 'names occur more than once.', fileMessages.duplicateColumns('name, age')),
  refused('not_gzip', 'the file is not in gzip format.', fileMessages.notGzip),
  refused('corrupt', 'the gzip file is damaged.', fileMessages.corrupt),
  refused('too_many_keys', 'the app would have too many keys.', fileMessages.tooManyKeys(500)),
  refused('standard', 'a column is a standard profile.', fileMessages.standardProfiles('$name')),
  { name: 'large_file', when: `The file is over ${limit} bytes.`, answer: errors.bodyTooLarge(limit) },
  { name: 'wrong_type', when: 'The type of the file is not known.', answer: errors.unsupportedFileType() },
  tooManyBodies,
]

const responses = tokenResponses(
  {
    202: success('The import is queued in the order of requests.', json('ColumnTypes', types), {
      'X-Import-Id': {
        description: 'ID of the import, for requests of its state. Extension of Sluice.',
        schema: { type: 'string', format: 'uuid' },
        required: true,
      },
    }),
  },
  cases,
)

const operation = acceptsKey({
  operationId: 'bulkImportV2',
  tags: ['Bulk import'],
  summary: 'Bulk import, with the file in the request',
  description: [
    'Deprecated: use version 3. Accepts a CSV file, plain or gzip-compressed, of up to 100 MiB as the body. The file is then',
    'processed like any other import. The answer has the type of each column: the type of the registered key, or the type',
    'inferred from the first rows.',
    '',
    csvRules,
  ].join('\n'),
  deprecated: true,
  security: [{ token: [] }],
  requestBody: {
    required: true,
    description: 'The file.',
    content: { 'text/csv': file('user_id,name,age\nalice,Alice,34\n'), 'application/gzip': file('') },
  },
  responses,
})

/** `/v2/user_profiles/bulk_import`. */
export const bulkImportV2Path: PathItem = {
  post: {
    ...operation,
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [
        status,
        { ...response, headers: { ...response.headers, ...deprecated } },
      ]),
    ),
  },
}
