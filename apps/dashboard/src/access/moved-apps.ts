import type { CellRouter } from '@sluice/moves'
import type { FastifyInstance } from 'fastify'
import { isReading } from './forms.ts'

/** The app of a form is in another cell, whose dashboard has the page. Nothing was changed. */
export class AppMoved extends Error {
  override readonly name = 'AppMoved'
  /** The app's page in the other dashboard. */
  readonly page: string

  constructor(page: string) {
    super(`the app is at ${page}`)
    this.page = page
  }
}

/** Redirects pages of an app that has left to the dashboard of its cell, and refuses its forms. */
export function redirectMovedApps(dashboard: FastifyInstance, cells: CellRouter): void {
  dashboard.addHook('onClose', async () => cells.close())
  dashboard.addHook('onRequest', async (request, reply) => {
    const { appId = '' } = (request.params ?? {}) as { appId?: string }
    // Like a forwarded request: it waits for an app that arrives, instead of sending the browser back.
    const address = /^[1-9]\d{0,8}$/.test(appId) ? await cells.addressOf(Number(appId), 1) : undefined
    if (address === undefined) return
    if (!isReading(request)) throw new AppMoved(`${address}/apps/${appId}`)
    return reply.redirect(address + request.url, 302)
  })
}
