import type { Content } from '@sluice/mail'
import type { FastifyInstance } from 'fastify'
import type { DashboardContext } from './context.ts'

/** Sends mails with links that sign a person in or confirm an address. */
export interface LinkMails {
  /**
   * Sends the mail that `make` returns, if any. Does not wait for the sending, because the duration of the answer would
   * reveal whether the address is known. Does not use the outbox, which would store the link in plain text. A link that
   * arrives late is useless anyway.
   */
  send(make: () => Promise<LinkMail | undefined>): void
}

/** A mail with its recipient. */
export interface LinkMail extends Content {
  recipient: string
}

/** Opens the sending of mails with links. When the dashboard closes, it waits for mails in flight. */
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
