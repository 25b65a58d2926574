import { type ExportView, errors, exportView } from '@sluice/contract'
import { showExport } from '@sluice/exports'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, refusal } from '../endpoint.ts'

export const exampleExport: ExportView = {
  export_id: '5c0f7f1e-30c9-4e0f-8a53-91ad6a0a4d11',
  state: 'completed',
  rows: 1000,
  bytes: 31_208,
  file_url: 'https://api.example.com/export_files/5c0f7f1e.c2VjcmV0',
  error: null,
  requested_at: '2026-03-01T09:00:00.000Z',
  finished_at: '2026-03-01T09:00:02.310Z',
}

/** Shows the state of an export (second-day.md §3, Exports). */
export const getExport = endpoint({
  id: 'getExport',
  route: 'GET /v1/exports/{export_id}',
  tag: 'Profiles',
  summary: 'State of an export',
  description: [
    'When the export is completed, `file_url` links to the file for 7 days. When the deletion of users',
    'completes, the files of earlier exports are removed.',
  ].join('\n'),
  extension: true,
  limit: { function: 'export_status', rate: '6000/60s', counts: 'Status requests for exports' },
  params: {
    export_id: z.uuid().meta({ description: 'The ID in the answer of the request.', example: exampleExport.export_id }),
  },
  answer: { status: 200, description: 'The current state of the export.', schema: exportView, example: exampleExport },
  refusals: [refusal('unknown', 'The app has no such export.', errors.notFound())],
  serve:
    ({ db, apiUrl }) =>
    async ({ appId, params, reply }) => {
      return (await showExport(db, apiUrl, appId, params.export_id)) ?? answer(reply, errors.notFound())
    },
})
