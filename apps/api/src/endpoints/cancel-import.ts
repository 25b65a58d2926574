import { errors, importView } from '@sluice/contract'
import { cancelImport as cancel, showImport } from '@sluice/imports'
import { answer } from '../answers.ts'
import { endpoint, refusal } from '../endpoint.ts'
import { exampleImport, importId, importTarget, unknownImport } from './get-import.ts'

/** Cancels a waiting, running or held import (design.md §3, Dry run, cancel). */
export const cancelImport = endpoint({
  id: 'cancelImport',
  route: 'DELETE /v3/user_profiles/bulk_import/{import_id}',
  tag: 'Bulk import',
  summary: 'Cancel an import',
  description: [
    'Cancels a waiting, running or held import. Rows that were applied stay applied; `rows_applied` is their',
    'number. The next import starts at once. Repeating the request changes nothing. The result mail is sent as usual.',
    '`error_file_url` is set if rows that had been read could not be applied.',
  ].join('\n'),
  extension: true,
  limit: { function: 'import_cancellation', rate: '1000/60s', counts: 'Cancellations of imports' },
  audit: { what: 'import.cancel', target: importTarget },
  params: { import_id: importId },
  answer: {
    status: 200,
    description: 'The import is cancelled.',
    schema: importView,
    example: { ...exampleImport, state: 'cancelled', error_file_url: null },
  },
  refusals: [
    unknownImport,
    refusal('ended', 'The import has already ended without being cancelled.', errors.importEnded('completed')),
  ],
  serve:
    ({ db, apiUrl }) =>
    async ({ appId, params, request, reply }) => {
      const cancellation = await cancel(db, { appId, importId: params.import_id })
      if (cancellation.outcome === 'ended') return answer(reply, errors.importEnded(cancellation.state))
      if (cancellation.outcome === 'cancelled') request.auditChange = cancellation.isNew
      if (request.auditChange) request.log.info({ import_id: params.import_id }, 'import cancelled')
      return (await showImport(db, apiUrl, { appId, importId: params.import_id })) ?? answer(reply, errors.notFound())
    },
})
