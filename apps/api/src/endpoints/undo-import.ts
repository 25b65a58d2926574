import { errors, type ImportView, importView } from '@sluice/contract'
import { undoImport as queueUndo, showImport, UndoRefused } from '@sluice/imports'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { requesterOf } from '../authentication.ts'
import { endpoint, refusal, wrong } from '../endpoint.ts'
import { importIdHeader } from './csv-rules.ts'
import { exampleQueuedImport, importId, importTarget, unknownImport } from './get-import.ts'

/** A misspelt `dry_run` must not undo anything. */
const onlyMember = 'The request body must have no member but dry_run.'
const undoRequest = z
  .strictObject(
    {
      dry_run: z
        .boolean()
        .nullish()
        .meta({ description: 'Count what the undo would do, and do nothing. Default: false.' }),
    },
    onlyMember,
  )
  .meta({ id: 'UndoRequest' })

/** Undoes an import (changes.md §3, Asking for it). */
export const undoImport = endpoint({
  id: 'undoImport',
  route: 'POST /v3/user_profiles/bulk_import/{import_id}/undo',
  tag: 'Bulk import',
  summary: 'Undo an import',
  description: [
    'Queues an import that takes back what another one changed, by its changes file: `keep_changes` must have been true. A',
    'value becomes what it was before the import, if it still is what the import left. Values that changed since stay, and',
    'are in the error file of the undo. Keys stay registered. The undo keeps its own changes, so it can be undone.',
  ].join('\n'),
  extension: true,
  limit: { function: 'import_undo', rate: '100/10m', counts: 'Undos of imports' },
  audit: { what: 'import.undo', target: importTarget },
  idempotency: {},
  params: { import_id: importId },
  body: { description: 'No body means `{}`.', schema: undoRequest, example: { dry_run: false }, isOptional: true },
  answer: {
    status: 202,
    description: 'The undo is queued, after all imports that wait.',
    headers: importIdHeader,
    schema: importView,
    example: {
      ...exampleQueuedImport,
      import_id: '5f0e7c52-9a3d-4a7e-8a55-3f6f4d7c9b10',
      source: 'undo',
      undo_of: exampleQueuedImport.import_id,
    },
  },
  refusals: [
    unknownImport,
    wrong('dry_run', 'The value of dry_run is not a boolean.', { dry_run: 'yes' }),
    wrong('member', 'A member is unknown.', { dryrun: true }),
    refusal('not_kept', 'The import cannot be undone.', errors.undoRefused('the import kept no changes')),
  ],
  serve:
    ({ db, apiUrl, settings, wakeWorker }) =>
    async ({ appId, body, params, request, reply, record }) => {
      const source = { appId, importId: params.import_id }
      const isUnknown = async () => (await showImport(db, undefined, source)) === undefined
      if (await isUnknown()) return answer(reply, errors.notFound())
      const dryRun = body.dry_run ?? false
      // A worker may claim the undo as soon as it is committed. The answer is what repetitions get, too.
      let recorded = undefined as ImportView | undefined
      try {
        const undoId = await queueUndo(
          { db, settings },
          source,
          { dryRun, requestedBy: requesterOf(request) },
          async (tx, undoId) => {
            recorded = await showImport(tx, apiUrl, { appId, importId: undoId })
            await record(tx, recorded, undoId)
          },
        )
        request.log.info({ app_id: appId, import_id: undoId, undo_of: source.importId }, 'undo queued')
        wakeWorker?.(appId)
        reply.header('X-Import-Id', undoId)
        return recorded ?? answer(reply, errors.notFound())
      } catch (error) {
        if (!(error instanceof UndoRefused)) throw error
        return answer(reply, (await isUnknown()) ? errors.notFound() : errors.undoRefused(error.message))
      }
    },
})
