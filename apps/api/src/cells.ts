import type { IncomingMessage } from 'node:http'
import { appOfToken } from '@sluice/accounts'
import type { CellRouter } from '@sluice/moves'
import { allowUpload, forwardsOf, openForwarder, passBack } from '@sluice/service'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { dropBody } from './request-body.ts'

/**
 * Forwards each request whose token names an app in another cell to the API of that cell, which authenticates, counts
 * and answers it. A link to a file names no app, so the cells to which apps have left are asked first.
 *
 * Bodies and answers are passed on as they arrive. If the other cell cannot be reached, the request fails (500).
 */
export function forwardToCells(api: FastifyInstance, cells: CellRouter): void {
  const forwarder = openForwarder()
  api.addHook('onClose', async () => cells.close())
  api.addHook('onRequest', async (request, reply) => {
    const answer = await answerOfCell(request)
    if (answer === undefined) return
    dropBody(request)
    reply.hijack()
    await passBack(answer, reply.raw)
    return reply
  })

  async function answerOfCell(request: FastifyRequest): Promise<IncomingMessage | undefined> {
    const { raw, ip, routeOptions } = request
    const { endpoint } = routeOptions.config
    const send = (address: string) => {
      raw.headers['x-forwarded-for'] = ip
      return forwarder.send(raw, address, () => {
        if (endpoint?.file !== undefined) allowUpload(raw)
      })
    }
    if (isLink(request)) return await firstThatKnows(cells.addressesOfLeft(forwardsOf(raw)), send)
    const token = request.headers['x-service-token']
    const address = typeof token === 'string' ? await cells.addressOf(appOfToken(token), forwardsOf(raw)) : undefined
    return address === undefined ? undefined : await send(address)
  }
}

/** Whether a request follows a link to a file: its secret is the route's parameter. */
function isLink({ params }: FastifyRequest): boolean {
  return typeof params === 'object' && params !== null && 'token' in params
}

async function firstThatKnows(
  addresses: readonly string[],
  send: (address: string) => Promise<IncomingMessage>,
): Promise<IncomingMessage | undefined> {
  for (const address of addresses) {
    // A cell that is down must not keep this one from answering for its own files.
    const answer = await send(address).catch(() => undefined)
    if (answer !== undefined && answer.statusCode !== 404) return answer
    answer?.resume()
  }
  return undefined
}
