import { errors, fileMessages, importRequest, limits, refusedTypes, uploadDescriptor } from '@sluice/contract'
import { renewUpload, requestImport, uploadKey } from '@sluice/imports'
import { TypeConflict } from '@sluice/profiles'
import { answer } from '../answers.ts'
import { requesterOf } from '../authentication.ts'
import { endpoint, refusal, wrong } from '../endpoint.ts'
import { csvRules, importIdHeader } from './csv-rules.ts'

const checksum = 'XrY7u+Ae7tCTyyK7j1rNww=='
const valid = { checksum, byte_size: '12' }

/** The first request of bulk import v3 (service.md, Endpoints 3; design.md §3, First request's success). */
export const requestBulkImport = endpoint({
  id: 'requestBulkImport',
  route: 'POST /v3/user_profiles/bulk_import',
  tag: 'Bulk import',
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
  // service.md, Limits.
  limit: { function: 'bulk_import', rate: '10/10m', counts: 'First requests of v3 bulk imports' },
  audit: { unrecordedBecause: 'the import itself is the record' },
  // The upload address in a stored response may have expired, so a repetition gets a new one (second-day.md §4, Keys).
  idempotency: { refresh: renewUpload },
  body: {
    description: 'The announced file: at most 1 GiB as CSV, 100 MiB as gzip.',
    schema: importRequest,
    example: { ...valid, content_type: 'text/csv', profile_types: { zip: 'string' }, file_name: 'people.csv' },
  },
  answer: {
    status: 200,
    description: 'The import has its place in the order of requests. The file can be uploaded.',
    headers: importIdHeader,
    schema: uploadDescriptor,
    example: {
      direct_upload: {
        url: 'https://storage.example.com/sluice/apps/7/imports/0b9d4d1e-7f0c-4c7e-9d6e-0f6d7f3f2a11/upload?X-Amz-Signature=6f1e',
        headers: { 'Content-Type': 'text/csv', 'Content-MD5': checksum },
      },
    },
  },
  refusals: [
    wrong('checksum', 'The checksum is not the base64 text of an MD5 digest.', { ...valid, checksum: 'x' }),
    wrong('no_checksum', 'There is no checksum.', { byte_size: '12' }),
    wrong('no_byte_size', 'There is no size.', { checksum }),
    wrong('byte_size', 'The size is not a positive integer.', { checksum, byte_size: '-1' }),
    wrong('too_large', 'The file is over the limit of its type.', {
      checksum,
      byte_size: String(limits.uploadBytes['text/csv'] + 1),
    }),
    wrong('content_type', 'The type of the file is not known.', { ...valid, content_type: 'text/plain' }),
    wrong('dry_run', 'The value of dry_run is not a boolean.', { ...valid, dry_run: 'yes' }),
    wrong('profile_types', 'A declared type is not known, or its key is not valid.', {
      ...valid,
      profile_types: { zip: 'text', user_id: 'string' },
    }),
    wrong('new_keys', 'The value of new_keys is not known.', { ...valid, new_keys: 'ignore' }),
    wrong('keep_changes', 'The value of keep_changes is not a boolean.', { ...valid, keep_changes: 'yes' }),
    wrong('hold_if', 'The bounds of hold_if are not valid.', { ...valid, hold_if: 'yes' }),
    wrong('clear_marker', 'The clear marker is not valid.', { ...valid, clear_marker: 'a,b' }),
    wrong('file_name', 'The name of the file is too long.', {
      ...valid,
      file_name: 'x'.repeat(limits.fileNameLength + 1),
    }),
    refusal(
      'registered_type',
      'A declared key is registered with another type.',
      errors.badRequest(...refusedTypes([fileMessages.otherType('age', 'int')])),
    ),
  ],
  serve:
    (context) =>
    async ({ appId, body, request, reply, record }) => {
      const given = { ...body, requestedBy: requesterOf(request) }
      try {
        const { importId, descriptor } = await requestImport(context, appId, given, (tx, requested) =>
          record(tx, requested.descriptor, requested.importId),
        )
        request.log.info({ app_id: appId, import_id: importId }, 'import requested')
        reply.header('X-Import-Id', importId)
        context.uploads?.watch({ appId, importId, objectKey: uploadKey(appId, importId), byteSize: body.byte_size })
        return descriptor
      } catch (error) {
        // second-day.md §1, Declared types.
        if (error instanceof TypeConflict) return answer(reply, errors.badRequest(...refusedTypes(error.messages)))
        throw error
      }
    },
})
