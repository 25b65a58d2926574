import type { Settings } from '@sluice/config'
import { createTransport } from 'nodemailer'
import type { Content } from './content.ts'

/** The settings that {@link openTransport} needs. */
export const mailSettings = ['SMTP_URL', 'MAIL_FROM'] as const

/** Keeps automatic responders, such as out-of-office replies, from answering (RFC 3834). */
const automatic = { 'Auto-Submitted': 'auto-generated' }

/** A mail with its recipient. */
interface Outgoing extends Content {
  recipient: string
  /** The part of the Message-ID that precedes the `@`. */
  id: string
  /** The page on which the recipient ends such mails; undefined if there is none. */
  unsubscribeUrl?: string | undefined
}

/** The connection to the mail server. */
export interface Transport {
  /**
   * Sends a mail, and waits until the mail server has accepted it. Throws the server's answer if it refuses the mail.
   * An abort of `signal` closes the connection, so that nothing more of the mail is sent.
   */
  deliver(mail: Outgoing, signal?: AbortSignal): Promise<void>
  close(): void
}

/** Opens the transport to the mail server. It connects on first use, and keeps connections for the next mail. */
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
    async deliver({ recipient, id, subject, text, html, unsubscribeUrl }, signal) {
      const messageId = `<${id}@${domain}>`
      const from = settings.MAIL_FROM
      const mail = { from, to: recipient, subject, text, html, messageId, headers: headersOf(unsubscribeUrl) }
      await transport.sendMail(signal === undefined ? mail : { ...mail, signal })
    },
    close: () => transport.close(),
  }
}

/**
 * Returns the headers of a mail. `List-Unsubscribe` is a link (RFC 2369). Mail programs may also end the mails by one
 * POST to it, which is allowed over https only (RFC 8058).
 */
function headersOf(unsubscribeUrl: string | undefined): Record<string, string> {
  return {
    ...automatic,
    ...(unsubscribeUrl !== undefined && { 'List-Unsubscribe': `<${unsubscribeUrl}>` }),
    ...(unsubscribeUrl?.startsWith('https:') && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
  }
}
