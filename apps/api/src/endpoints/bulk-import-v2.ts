import type { IncomingHttpHeaders } from 'node:http'
import { type ErrorAnswer, errors, fileMessages, limits, type TextAnswer, valueTypes } from '@sluice/contract'
import { type ReceivedImport, receiveV2File } from '@sluice/imports'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { requesterOf } from '../authentication.ts'
import { endpoint, refusal } from '../endpoint.ts'
import { hashedBody } from '../keyed-request.ts'
import { isEncoded, readMediaType } from '../media-type.ts'
import { streamBody } from '../request-body.ts'
import { csvRules, importIdHeader } from './csv-rules.ts'

const limit = limits.uploadBytesV2

/**
 * The date in service.md, Versioning. `Deprecation` needs Unix time (RFC 9745), and `Sunset` an HTTP date (RFC 8594).
 */
const ending = { Deprecation: '@1630368000', Sunset: 'Tue, 31 Aug 2021 00:00:00 GMT' }
const schema = { type: 'string' }

const columnTypes = z
  .object({
    user_profile: z.record(z.string(), z.object({ type: z.enum(valueTypes) })).meta({
      description: 'Each column, except `user_id` and `SERVICE_ERRORS`, with the type of its key.',
    }),
  })
  .meta({ id: 'ColumnTypes' })

/**
 * The deprecated bulk import v2, which receives the file as the body of the request (service.md, Endpoints 5;
 * design.md §3, Sizes).
 */
export const bulkImportV2 = endpoint({
  id: 'bulkImportV2',
  route: 'POST /v2/user_profiles/bulk_import',
  tag: 'Bulk import',
  summary: 'Bulk import, with the file in the request',
  description: [
    'Deprecated: use version 3. Accepts a CSV file, plain or gzip-compressed, of up to 100 MiB as the body. The file is then',
    'processed like any other import. The answer has the type of each column: the type of the registered key, or the type',
    'inferred from the first rows.',
    '',
    csvRules,
  ].join('\n'),
  deprecated: true,
  limit: { function: 'bulk_import_v2', rate: '10/10m', counts: 'v2 bulk imports' },
  audit: { unrecordedBecause: 'the import itself is the record' },
  // second-day.md §4, Keys.
  idempotency: {},
  headers: {
    Deprecation: { description: 'Date of the deprecation (RFC 9745).', schema },
    Sunset: { description: 'Announced end of the endpoint (RFC 8594).', schema },
    Link: { description: 'The endpoint to use instead.', schema },
  },
  body: {
    description: 'The file.',
    files: { 'text/csv': 'user_id,name,age\nalice,Alice,34\n', 'application/gzip': '' },
  },
  answer: {
    status: 202,
    description: 'The import is queued in the order of requests.',
    headers: importIdHeader,
    schema: columnTypes,
    example: { user_profile: { name: { type: 'string' }, age: { type: 'int' } } },
  },
  refusals: [
    ...[
      ['no_user_id', 'the column of user IDs is missing.', fileMessages.noUserIdColumn],
      ['empty', 'the file is empty.', fileMessages.empty],
      ['large_header', 'the header is too large.', fileMessages.headerTooLarge],
      ['no_newline', 'the header has no line break.', fileMessages.noLineBreak],
      ['empty_columns', 'a column has no name.', fileMessages.emptyColumns],
      ['not_utf8', 'a name is not in UTF-8.', fileMessages.columnsNotUtf8('column 2')],
      ['duplicates', 'names occur more than once.', fileMessages.duplicateColumns('name, age')],
      ['not_gzip', 'the file is not in gzip format.', fileMessages.notGzip],
      ['corrupt', 'the gzip file is damaged.', fileMessages.corrupt],
      ['too_many_keys', 'the app would have too many keys.', fileMessages.tooManyKeys(500)],
      ['standard', 'a column is a standard profile.', fileMessages.standardProfiles('$name')],
    ].map(([name = '', when, message = '']) => refusal(name, `2001: ${when}`, errors.fileRefused(message))),
    refusal('large_file', `The file is over ${limit} bytes.`, errors.bodyTooLarge(limit)),
    refusal('wrong_type', 'The type of the file is not known.', errors.unsupportedFileType()),
  ],
  hooks: ({ apiUrl }) => ({
    async onRequest(_, reply) {
      const link = `<${apiUrl}/v3/user_profiles/bulk_import>; rel="successor-version"`
      reply.headers({ ...ending, Link: link })
    },
    // Precedes fastify's check of the type, which would answer a malformed type in another form.
    preParsing(request, reply, body, done) {
      const refused = refusalOf(request.headers)
      if (refused === undefined) done(null, body)
      else answer(reply, refused)
    },
  }),
  serve:
    (context) =>
    async ({ appId, request, reply, record }) => {
      const contentType = fileType(request.headers)
      if (contentType === undefined) return answer(reply, errors.unsupportedFileType())
      const length = request.headers['content-length']
      const file = {
        contentType,
        requestedBy: requesterOf(request),
        byteSize: length === undefined ? undefined : Number(length),
        content: hashedBody(request, streamBody(request.raw, limit)),
      }
      const received = await receiveV2File(context, appId, file, (tx, queued) =>
        record(tx, typesAnswer(queued), queued.importId),
      )
      if ('refused' in received) return answer(reply, errors.fileRefused(received.refused))
      request.log.info({ app_id: appId, import_id: received.importId }, 'file received')
      context.wakeWorker?.(appId)
      reply.header('X-Import-Id', received.importId)
      return typesAnswer(received)
    },
})

/**
 * Returns the answer that refuses a file because of its headers; undefined if they are valid (service.md, Errors: 415;
 * service.md, Errors: 413).
 */
function refusalOf(headers: IncomingHttpHeaders): ErrorAnswer | TextAnswer | undefined {
  if (fileType(headers) === undefined) return errors.unsupportedFileType()
  return Number(headers['content-length']) > limit ? errors.bodyTooLarge(limit) : undefined
}

function fileType(headers: IncomingHttpHeaders): 'text/csv' | 'application/gzip' | undefined {
  const media = readMediaType(headers['content-type'])
  if (media === undefined || !media.isUtf8 || isEncoded(headers)) return undefined
  return media.type === 'text/csv' || media.type === 'application/gzip' ? media.type : undefined
}

function typesAnswer({ types }: ReceivedImport) {
  return { user_profile: Object.fromEntries([...types].map(([column, type]) => [column, { type }])) }
}
