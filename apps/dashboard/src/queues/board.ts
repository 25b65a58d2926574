import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { SharedStore } from '@sluice/config'
import { openBoardQueues } from '@sluice/queue'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { contentSecurityPolicy } from '../access/security-headers.ts'
import type { DashboardContext } from '../context.ts'

const basePath = '/queues/board'

/** The hash of the style sheet that bull-board's script adds to the page. A new release may need another hash. */
const scriptStyleHash = "'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='"

/** The address of a request names the queue, and the job if there is one. */
const boardAudit = {
  what: 'queue.change',
  target: ({ method, url }: FastifyRequest) => `${method} ${url.replace(`${basePath}/api/queues/`, '').split('?')[0]}`,
} as const

/** The board needs a base address, and draws its icons from data URLs. */
const policy = contentSecurityPolicy({
  'base-uri': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'style-src': ["'self'", scriptStyleHash],
})

/**
 * Parts of the board's page that violate the policy. One is a style sheet of another host, for fonts. The other is an
 * animation with inline styles that is shown until the script is loaded.
 */
const forbiddenParts = [/<link href="https:[^>]*>/g, /(?<=<div id="root">).*?<\/style>(?=\s*<\/div>)/gs]

/**
 * Mounts bull-board for operators. Its own routes know neither access rules nor form tokens, so both are set here for
 * all of them. The first request opens the queues. If the store does not answer, the next request tries again.
 */
export function mountBoard(dashboard: FastifyInstance, store: SharedStore, { log }: DashboardContext): void {
  const serverAdapter = new FastifyAdapter().setBasePath(basePath)
  const board = createBullBoard({
    queues: [],
    serverAdapter,
    options: {
      uiConfig: {
        boardTitle: 'Queues',
        hideDocsLink: true,
        miscLinks: [{ text: 'Back to the overview', url: '/queues' }],
      },
    },
  })
  let opening: ReturnType<typeof openBoardQueues> | undefined
  const open = async () => {
    const queues = await openBoardQueues(store, (error) => log.warn({ err: error }, 'connection of the queue board'))
    board.setQueues(queues.map((queue) => new BullMQAdapter(queue)))
    return queues
  }
  const ready = async () => {
    opening ??= open()
    try {
      await opening
    } catch (error) {
      opening = undefined
      throw error
    }
  }

  void dashboard.register(async (mount) => {
    mount.addContentTypeParser('application/json', { parseAs: 'string' }, mount.getDefaultJsonParser('error', 'error'))
    mount.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'operators', sender: 'script', audit: boardAudit }
    })
    mount.addHook('onRequest', async (_, reply) => {
      reply.header('Content-Security-Policy', policy)
      await ready()
    })
    mount.addHook('onSend', async (_, reply, payload) => {
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html')
      if (!isPage || typeof payload !== 'string') return payload
      const page = forbiddenParts.reduce((text, part) => text.replace(part, ''), payload)
      reply.header('Content-Length', Buffer.byteLength(page))
      return page
    })
    mount.addHook('onClose', async () => {
      const queues = await opening?.catch(() => [])
      await Promise.all((queues ?? []).map((queue) => queue.close()))
    })
    await mount.register(serverAdapter.registerPlugin(), { prefix: basePath })
  })
}
