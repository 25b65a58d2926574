import { errors, importView } from '@sluice/contract'
import { approveImport as approve, showImport } from '@sluice/imports'
import { answer } from '../answers.ts'
import { endpoint, refusal } from '../endpoint.ts'
import { exampleQueuedImport, importId, importTarget, unknownImport } from './get-import.ts'

/** Approves a held import (changes.md §2, The decision). */
export const approveImport = endpoint({
  id: 'approveImport',
  route: 'POST /v3/user_profiles/bulk_import/{import_id}/approve',
  tag: 'Bulk import',
  summary: 'Approve a held import',
  description: [
    'Applies the file of a held import to what is stored now, before all later imports of the app. It is not checked',
    'again, unless a deletion has removed what its check kept. Another approval, or a cancellation, may come first: then',
    'the answer is 409.',
  ].join('\n'),
  extension: true,
  limit: { function: 'import_approval', rate: '1000/60s', counts: 'Approvals of imports' },
  audit: { what: 'import.approve', target: importTarget },
  params: { import_id: importId },
  answer: {
    status: 200,
    description: 'The import is approved, and queued before all others.',
    schema: importView,
    example: exampleQueuedImport,
  },
  refusals: [unknownImport, refusal('not_held', 'The import is not held.', errors.notHeld('completed'))],
  serve:
    ({ db, apiUrl, wakeWorker }) =>
    async ({ appId, params, request, reply }) => {
      const approval = await approve(db, { appId, importId: params.import_id })
      if (approval.outcome === 'not held') return answer(reply, errors.notHeld(approval.state))
      if (approval.outcome === 'approved') {
        wakeWorker?.(appId)
        request.log.info({ import_id: params.import_id }, 'import approved')
      }
      return (await showImport(db, apiUrl, { appId, importId: params.import_id })) ?? answer(reply, errors.notFound())
    },
})
