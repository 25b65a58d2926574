import type { Content } from '@sluice/mail'
import type { FastifyInstance } from 'fastify'
import type { DashboardContext } from './context.ts'

/** Mails with links that sign somebody in or confirm an address. */
export interface LinkMails {
  /**
   * Sends the mail that `make` returns, if any, while the answer goes out: how long it takes would tell whether the address is known.
   * Not by the outbox: the link would lie there readable, and a late one is of no use.
   */
  send(make: () => Promise<LinkMail | undefined>): void
}

/** A mail and the address that it goes to. */
export interface LinkMail extends Content {
  recipient: string
}

/** Opens them. A dashboard that closes waits for those in flight. */
export function openLinkMails(dashboard: FastifyInstance, { mails, log }: DashboardContext): LinkMails {
  const inFlight = new Set<Promise<void>>()
  dashboard.addHook('onClose', async () => {
    await Promise.all(inFlight)
  })
  const send = async (make: () => Promise<LinkMail | undefined>) => {
    try {
      const mail = await make()
      if (mail !== undefined) await mails.deliver({ id: crypto.randomUUID(), ...mail })
    } catch (error) {
      log.error({ err: error }, 'mail with a link could not be sent')
    }
  }
  return {
    send(make) {
      const sending = send(make).finally(() => inFlight.delete(sending))
      inFlight.add(sending)
    },
  }
}
