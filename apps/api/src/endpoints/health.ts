import { errors } from '@sluice/contract'
import { checkReadiness, exposition } from '@sluice/service'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, ofService, refusal } from '../endpoint.ts'

const health = z.object({ status: z.enum(['ok', 'ready']) }).meta({ id: 'Health' })

/** The process runs. */
export const isLive = endpoint({
  ...ofService,
  id: 'isLive',
  route: 'GET /healthz',
  summary: 'Check that the process runs',
  description: '',
  answer: { status: 200, description: 'The process runs.', schema: health, example: { status: 'ok' } },
  serve: () => async () => ({ status: 'ok' as const }),
})

/** The process can serve requests. The API adds no jobs, so it needs no queue. */
export const readiness = endpoint({
  ...ofService,
  id: 'isReady',
  route: 'GET /readyz',
  summary: 'Check that the service can process requests',
  description: '',
  answer: {
    status: 200,
    description: 'The service can process requests.',
    schema: health,
    example: { status: 'ready' },
  },
  refusals: [refusal('unavailable', 'The database or storage cannot be reached.', errors.unavailable(['postgres']))],
  serve:
    ({ readiness }) =>
    async ({ request, reply }) => {
      const { isReady, awaited } = await checkReadiness(readiness, request.log)
      // Anybody may read this: it has neither addresses nor errors.
      return isReady ? { status: 'ready' as const } : answer(reply, errors.unavailable(awaited))
    },
})

/** Counts only, and no data of any app. */
export const metrics = endpoint({
  ...ofService,
  id: 'getMetrics',
  route: 'GET /metrics',
  summary: 'Metrics for Prometheus',
  description:
    'Metrics of this process in the text format of Prometheus. If `METRICS_PORT` is set, only that port serves them.',
  answer: {
    status: 200,
    description: 'The metrics.',
    content: {
      type: 'text/plain',
      schema: { type: 'string' },
      example: 'sluice_rate_limited_requests_total{function="bulk_import"} 3\n',
    },
  },
  serve:
    ({ metrics: { metrics } }) =>
    async ({ reply }) => {
      return reply.type(metrics.registry.contentType).send(await exposition(metrics))
    },
})
