import { queueNames } from '@sluice/config'
import type { Html } from '@sluice/html'
import { type JobState, jobStates, openInspector, type QueueName } from '@sluice/queue'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../access/forms.ts'
import { PageNotFound } from '../access/guard.ts'
import type { DashboardContext } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { jobsAddress, jobsContent, jobsPerPage, queuesContent, storeDownContent } from './jobs-pages.ts'

interface OneQueue {
  Params: { queue: string }
}

/**
 * The last place at which a page may begin. Queues hold far fewer jobs, because waiting work is added to them in parts.
 */
const lastPlace = 1_000_000

/** Adds the pages on which operators see the jobs of the queues, pause a queue and remove a job. */
export function addJobPages(dashboard: FastifyInstance, { queueStore, log }: DashboardContext): void {
  const inspector = openInspector(queueStore, (error) => log.warn({ err: error }, 'connection of the pages of jobs'))
  dashboard.addHook('onClose', () => inspector.close())
  const operators = { config: { access: 'operators' } } as const
  const change = { config: { ...operators.config, audit: { what: 'queue.change' } } } as const

  dashboard.get(jobsAddress, operators, (request, reply) =>
    sendAnswered(reply, 'Jobs', async () => queuesContent(request, await inspector.queues())),
  )

  dashboard.get<OneQueue>(`${jobsAddress}/:queue`, operators, (request, reply) => {
    const { name, state, from } = placeOf(request)
    return sendAnswered(reply, `Jobs of ${name}`, async () => {
      const jobs = await inspector.jobs(name, state, { from, limit: jobsPerPage + 1 })
      return jobsContent(request, { name, state, from, jobs })
    })
  })

  for (const action of ['pause', 'resume'] as const) {
    dashboard.post<OneQueue>(`${jobsAddress}/:queue/${action}`, change, async (request, reply) => {
      const name = queueOf(request)
      request.auditTarget = `${action} ${name}`
      request.auditChange = await inspector[action](name)
      return reply.redirect(jobsAddress, 303)
    })
  }

  dashboard.post<OneQueue>(`${jobsAddress}/:queue/remove`, change, async (request, reply) => {
    const name = queueOf(request)
    const id = formOf(request).get('job') ?? ''
    request.auditTarget = `remove ${id} of ${name}`
    if (!(await inspector.remove(name, id))) throw new PageNotFound()
    return reply.redirect(`${jobsAddress}/${name}?state=waiting`, 303)
  })

  /**
   * Sends a page. If the store of the queues does not answer, says so: operators open these pages during its outages.
   */
  async function sendAnswered(reply: FastifyReply, title: string, content: () => Promise<Html>) {
    try {
      return sendPage(reply, { title, area: 'queues', content: await content() })
    } catch (error) {
      log.warn({ err: error }, 'the store of the queues does not answer')
      return sendPage(reply.code(503), { title, area: 'queues', content: storeDownContent() })
    }
  }
}

function queueOf({ params }: FastifyRequest<OneQueue>): QueueName {
  const name = queueNames.find((each) => each === params.queue)
  if (name === undefined) throw new PageNotFound()
  return name
}

/** Returns the jobs that a request asks for. Throws {@link PageNotFound} if there is no such queue or state. */
function placeOf(request: FastifyRequest<OneQueue>): { name: QueueName; state: JobState; from: number } {
  const { state: wanted = 'waiting', from = '0' } = request.query as { state?: unknown; from?: unknown }
  const state = jobStates.find((each) => each === wanted)
  if (state === undefined || typeof from !== 'string' || !/^\d{1,7}$/.test(from)) throw new PageNotFound()
  return { name: queueOf(request), state, from: Math.min(Number(from), lastPlace) }
}
