import { errors } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { Content, Header, PathItem } from '../document-types.ts'
import { type ErrorCase, json, success, tokenResponses, tooManyBodies } from '../responses.ts'
import { csvRules } from './csv-rules.ts'

const file = (value: string): Content => ({
  schema: { type: 'string', format: 'binary' },
  examples: { example: { value } },
})

const types = { user_profile: { name: { type: 'string' }, age: { type: 'int' } } }

const text: Header['schema'] = { type: 'string' }

/** That the endpoint is to be left, on every answer of it. */
const deprecated: Record<string, Header> = {
  Deprecation: { description: 'Since when it is deprecated (RFC 9745).', schema: text },
  Sunset: { description: 'Until when it was to be there (RFC 8594).', schema: text },
  Link: { description: 'What to use instead.', schema: text },
}

const refused = (name: string, when: string, message: string): ErrorCase => {
  return { name, when: `2001: ${when}`, answer: errors.fileRefused(message) }
}

const limit = limits.uploadBytesV2

const cases: ErrorCase[] = [
  refused('no_user_id', 'the column of user IDs is missing.', 'user_id column is required'),
  refused('empty', 'the file is empty.', 'empty file'),
  refused('large_header', 'the header is too large.', 'header size over 102400 bytes'),
  refused('no_newline', 'the header has no end.', 'newline character not found'),
  refused('empty_columns', 'a column has no name.', 'empty columns'),
  refused('not_utf8', 'a name is not in UTF-8.', 'column 2 should be UTF-8'),
  refused('duplicates', 'names occur twice.', 'duplicate columns name, age'),
  refused('not_gzip', 'the file is not in gzip format.', 'not in gzip format'),
  refused('corrupt', 'the gzip file is damaged.', 'file maybe corrupt'),
  refused(
    'too_many_keys',
    'the app would have too many keys.',
    'This app has exceeded the limit of enabled user profile(500)',
  ),
  refused('standard', 'a column is a standard profile.', 'standard user profile cannot be updated: $name'),
  { name: 'large_file', when: `The file is over ${limit} bytes.`, answer: errors.bodyTooLarge(limit) },
  { name: 'wrong_type', when: 'The type of the file is not known.', answer: errors.unsupportedFileType() },
  tooManyBodies,
]

const responses = tokenResponses(
  {
    202: success('The file has its place in the line.', json('ColumnTypes', types), {
      'X-Import-Id': {
        description: 'The import, to ask for its state. An extension of Sluice.',
        schema: { type: 'string', format: 'uuid' },
        required: true,
      },
    }),
  },
  cases,
)

/** `/v2/user_profiles/bulk_import`. */
export const bulkImportV2Path: PathItem = {
  post: {
    operationId: 'bulkImportV2',
    tags: ['Bulk import'],
    summary: 'Bulk import, with the file in the request',
    description: [
      'Deprecated: use version 3. Takes a CSV file, or a gzip-compressed one, of up to 100 MiB as the body. It is then',
      'processed like any other import. The answer tells the type of each column: that of the registered key, or what the',
      'first rows look like.',
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
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [
        status,
        { ...response, headers: { ...response.headers, ...deprecated } },
      ]),
    ),
  },
}
