import { errors } from '../../errors.ts'
import { parseExportRequest } from '../../export.ts'
import { limits } from '../../limits.ts'
import type { ExportView } from '../../wire-types.ts'
import type { PathItem } from '../document-types.ts'
import { fileLinkPath } from '../file-link.ts'
import { acceptsKey } from '../idempotency.ts'
import { type ErrorCase, json, jsonBodyErrors, success, tokenResponses } from '../responses.ts'

const view: ExportView = {
  export_id: '5c0f7f1e-30c9-4e0f-8a53-91ad6a0a4d11',
  state: 'completed',
  rows: 1000,
  bytes: 31_208,
  file_url: 'https://api.example.com/export_files/5c0f7f1e.c2VjcmV0',
  error: null,
  requested_at: '2026-03-01T09:00:00.000Z',
  finished_at: '2026-03-01T09:00:02.310Z',
}

/** Returns the case of an invalid request, with the messages of the real check. */
function refused(name: string, when: string, body: unknown): ErrorCase {
  const parsed = parseExportRequest(body)
  return { name, when, answer: errors.badRequest(...('messages' in parsed ? parsed.messages : [])) }
}

/** `/v1/exports`. */
export const exportsPath: PathItem = {
  post: acceptsKey({
    operationId: 'requestExport',
    tags: ['Profiles'],
    summary: 'Export all profiles to a file',
    description: [
      'Extension of Sluice. Queues a file of every registered user with their values: CSV in UTF-8, gzip-compressed, sorted by',
      '`user_id`, from one moment. One export of an app runs at a time. A datetime is written as `2026-01-31T09:00:00.000Z`. An',
      'import of the file changes nothing.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    requestBody: {
      required: true,
      description: 'The keys to export.',
      content: json('ExportRequest', { keys: ['name', 'age'] }),
    },
    responses: tokenResponses(
      { 202: success('The export is queued.', json('ExportAnswer', { export_id: view.export_id, state: 'queued' })) },
      [
        refused('no_list', 'The keys are not a list.', { keys: 'name' }),
        refused('empty_list', 'The list is empty.', { keys: [] }),
        refused('invalid_key', 'A key is not valid.', { keys: ['name', ''] }),
        refused('repeated_key', 'A key is named twice.', { keys: ['name', 'name'] }),
        { name: 'unregistered', when: 'A key is not registered.', answer: errors.unregisteredKeys(['nmae']) },
        refused('no_object', 'The body is not a JSON object.', []),
        { name: 'not_json', when: 'The body is not JSON.', answer: errors.malformedJson() },
        ...jsonBodyErrors(limits.jsonBytes),
      ],
    ),
  }),
}

/** `/v1/exports/{export_id}`. */
export const exportPath: PathItem = {
  get: {
    operationId: 'getExport',
    tags: ['Profiles'],
    summary: 'State of an export',
    description: [
      'Extension of Sluice. When the export is completed, `file_url` links to the file for 7 days. When the deletion of users',
      'completes, the files of earlier exports are removed.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    parameters: [
      {
        name: 'export_id',
        in: 'path',
        required: true,
        description: 'The ID in the answer of the request.',
        schema: { type: 'string', format: 'uuid' },
        example: view.export_id,
      },
    ],
    responses: tokenResponses({ 200: success('The current state of the export.', json('Export', view)) }, [
      { name: 'unknown', when: 'The app has no such export.', answer: errors.notFound() },
    ]),
  },
}

/** `/export_files/{token}`. */
export const exportFilePath = fileLinkPath({
  operationId: 'getExportFile',
  tag: 'Profiles',
  summary: 'Download the file of an export',
  description: 'Extension of Sluice. The link in `file_url`.',
  token: '5c0f7f1e.c2VjcmV0',
  expired: 'The link has expired, or the file was removed.',
})
