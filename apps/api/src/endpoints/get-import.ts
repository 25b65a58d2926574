import { errors, type ImportView, importView, importWaitQuery } from '@sluice/contract'
import { showImport } from '@sluice/imports'
import { openShares, untilClosed } from '@sluice/service'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, refusal, wrong } from '../endpoint.ts'

export const exampleImport: ImportView = {
  import_id: '0b9d4d1e-7f0c-4c7e-9d6e-0f6d7f3f2a11',
  state: 'completed',
  source: 'v3',
  file_name: 'people.csv',
  rows_total: 1000,
  rows_applied: 998,
  rows_failed: 2,
  rows_changed: 120,
  error: null,
  error_file_url: 'https://api.example.com/error_files/0b9d4d1e.c2VjcmV0',
  keep_changes: true,
  changes: {
    rows: { created: 20, changed: 100 },
    values: { added: 80, changed: 97, removed: 3 },
    keys: { age: { added: 20, changed: 97, removed: 3 }, name: { added: 60, changed: 0, removed: 0 } },
  },
  changes_file_url: 'https://api.example.com/changes_files/0b9d4d1e.c2VjcmV0',
  held: null,
  types: { name: 'string', age: 'int', shop: 'int' },
  warnings: [
    {
      key: 'shop',
      type: 'int',
      message: '212 of 1000 values begin with 0, which int does not keep',
      examples: ['007', '042', '015'],
    },
  ],
  requested_at: '2026-03-01T09:00:00.000Z',
  started_at: '2026-03-01T09:00:05.120Z',
  finished_at: '2026-03-01T09:00:06.480Z',
}

/** An import that has not begun, for examples. */
export const exampleQueuedImport: ImportView = {
  ...exampleImport,
  state: 'queued',
  started_at: null,
  finished_at: null,
  types: {},
  warnings: [],
  rows_total: 0,
  rows_applied: 0,
  rows_failed: 0,
  rows_changed: 0,
  changes: { rows: { created: 0, changed: 0 }, values: { added: 0, changed: 0, removed: 0 }, keys: {} },
  error_file_url: null,
  changes_file_url: null,
}

/** The import that a path names. */
export const importId = z.uuid().meta({ description: 'The ID in `X-Import-Id`.', example: exampleImport.import_id })

/** The target of an import's change in the audit log. */
export const importTarget = ({ params }: FastifyRequest) => (params as { import_id: string }).import_id

export const unknownImport = refusal('unknown', 'The app has no such import.', errors.notFound())

/** Maximum number of requests that wait at a time: in a process, and of an app in it. Beyond it, none waits. */
const waitingRequests = { all: 10_000, each: 5_000 }

/** Shows the state of an import (design.md §3, Import status). */
export const getImport = endpoint({
  id: 'getImport',
  route: 'GET /v3/user_profiles/bulk_import/{import_id}',
  tag: 'Bulk import',
  summary: 'State of an import',
  description: [
    'The progress of an import from any upload route. Its state is `awaiting_upload` until the file is',
    'uploaded, `queued` until the import is next in order, `processing`, and finally `completed` or `failed`. It is `held`',
    'while it waits for approval, `expired` if the file did not arrive in time, and `cancelled` if the import was cancelled.',
    'With `wait`, the answer waits for another state, so that a client need not ask again and again.',
    'If rows could not be applied, `error_file_url` links to a CSV file of these rows with the reasons.',
  ].join('\n'),
  extension: true,
  limit: { function: 'import_status', rate: '6000/60s', counts: 'Status requests for imports' },
  params: { import_id: importId },
  query: importWaitQuery,
  answer: {
    status: 200,
    description: 'The current state of the import.',
    schema: importView,
    example: exampleImport,
  },
  refusals: [unknownImport, wrong('wait', 'The time to wait is not valid.', { wait: '31' })],
  serve: ({ db, apiUrl, states }) => {
    const places = openShares(waitingRequests)
    return async ({ appId, params, query: { wait, state }, request, reply }) => {
      const show = () => showImport(db, apiUrl, { appId, importId: params.import_id })
      const view = await show()
      if (view === undefined) return answer(reply, errors.notFound())
      const release =
        wait && view.finished_at === null && view.state === (state ?? view.state) && places.take([String(appId)])
      if (!release) return view
      try {
        request.endRead?.()
        const patience = { ms: wait * 1000, whenGone: untilClosed(reply.raw) }
        await states.untilChanged({ appId, importId: view.import_id }, view.state, patience)
      } finally {
        release()
      }
      return (await show()) ?? answer(reply, errors.notFound())
    }
  },
})
