import { errors, exportAnswer, limits, listOf, nameOf } from '@sluice/contract'
import { requestExport as queueExport } from '@sluice/exports'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, refusal, wrong } from '../endpoint.ts'
import { exampleExport } from './get-export.ts'

const keys = listOf(nameOf(limits.keyLength), 'profile keys', limits.exportKeys)
  .superRefine((names, context) => {
    const preceding = new Set<string>()
    for (const [index, name] of names.entries()) {
      if (preceding.has(name)) context.addIssue({ code: 'custom', message: 'is named twice', path: [index] })
      preceding.add(name)
    }
  })
  .meta({
    type: ['array', 'null'] as never, // zod knows one type only
    description: 'The columns after `user_id`, in order. Default: all keys, by name.',
    uniqueItems: true,
  })

/** Queues an export of all profiles (second-day.md §3, Exports). */
export const requestExport = endpoint({
  id: 'requestExport',
  route: 'POST /v1/exports',
  tag: 'Profiles',
  summary: 'Export all profiles to a file',
  description: [
    'Queues a file of every registered user with their values: CSV in UTF-8, gzip-compressed, sorted by',
    '`user_id`, from one moment. One export of an app runs at a time. A datetime is written as `2026-01-31T09:00:00.000Z`. An',
    'import of the file changes nothing.',
  ].join('\n'),
  extension: true,
  limit: { function: 'export', rate: '10/10m', counts: 'Exports requested' },
  audit: { what: 'export.request' },
  // second-day.md §4, Keys.
  idempotency: {},
  body: {
    description: 'The keys to export.',
    schema: z
      .object({
        keys: z.preprocess((given) => given ?? undefined, keys.optional()).optional(),
      })
      .meta({ id: 'ExportRequest' }),
    example: { keys: ['name', 'age'] },
  },
  answer: {
    status: 202,
    description: 'The export is queued.',
    schema: exportAnswer,
    example: { export_id: exampleExport.export_id, state: 'queued' },
  },
  refusals: [
    wrong('no_list', 'The keys are not a list.', { keys: 'name' }),
    wrong('empty_list', 'The list is empty.', { keys: [] }),
    wrong('invalid_key', 'A key is not valid.', { keys: ['name', ''] }),
    wrong('repeated_key', 'A key is named twice.', { keys: ['name', 'name'] }),
    refusal('unregistered', 'A key is not registered.', errors.unregisteredKeys(['nmae'])),
    refusal('disabled', 'A key is disabled.', errors.disabledKeys(['plan'])),
  ],
  serve:
    ({ db }) =>
    async ({ appId, body, request, reply, record }) => {
      const queued = (exportId: string) => ({ export_id: exportId, state: 'queued' as const })
      const requested = await queueExport(db, appId, body.keys, (tx, exportId) => record(tx, queued(exportId)))
      if ('unregistered' in requested) return answer(reply, errors.unregisteredKeys(requested.unregistered))
      if ('disabled' in requested) return answer(reply, errors.disabledKeys(requested.disabled))
      request.auditTarget = requested.exportId
      request.log.info({ app_id: appId, export_id: requested.exportId }, 'export requested')
      return queued(requested.exportId)
    },
})
