import type { Settings } from '@sluice/config'
import { createTransport } from 'nodemailer'
import type { Content } from './content.ts'

/** The settings that {@link openTransport} needs. */
export const mailSettings = ['SMTP_URL', 'MAIL_FROM'] as const

/** Tells programs that answer mails, such as out-of-office replies, to leave these alone (RFC 3834). */
const automatic = { 'Auto-Submitted': 'auto-generated' }

/** A mail on its way. */
interface Outgoing extends Content {
  recipient: string
  /** The part of its Message-ID before the `@`. */
  id: string
}

/** The way to the mail server. */
export interface Transport {
  /**
   * Hands a mail over. Throws what the server answered otherwise. When the signal aborts, the connection is closed, so that
   * nothing more of the mail is sent.
   */
  deliver(mail: Outgoing, signal?: AbortSignal): Promise<void>
  close(): void
}

/** Opens the way to the mail server: connections are kept for the next mail, and opened on first use. */
export function openTransport(settings: Settings<(typeof mailSettings)[number]>): Transport {
  const transport = createTransport({
    url: settings.SMTP_URL,
    pool: true,
    maxConnections: 2,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 60_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const domain = /@([\w.-]+)/.exec(settings.MAIL_FROM)?.[1] ?? 'localhost'
  return {
    async deliver({ recipient, id, subject, text, html }, signal) {
      const messageId = `<${id}@${domain}>`
      const from = settings.MAIL_FROM
      const mail = { from, to: recipient, subject, text, html, messageId, headers: automatic }
      await transport.sendMail(signal === undefined ? mail : { ...mail, signal })
    },
    close: () => transport.close(),
  }
}
