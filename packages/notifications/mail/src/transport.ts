import { readFileSync } from 'node:fs'
import { type MailLogin, mailLogin, mailLoginSettings, type Settings } from '@sluice/config'
import { createTransport } from 'nodemailer'
import { openAccessTokens } from './access-tokens.ts'
import type { Content } from './content.ts'

/** The settings that {@link openTransport} needs. */
export const mailSettings = [...mailLoginSettings, 'SMTP_CA_FILE', 'MAIL_FROM'] as const

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

/**
 * Opens the transport to the mail server (second-day.md §7, Mail). It connects on first use, and keeps connections for
 * the next mail. Throws `SettingsError` if the settings of the login contradict each other, and the system's error if
 * `SMTP_CA_FILE` cannot be read.
 */
export function openTransport(settings: Settings<(typeof mailSettings)[number]>): Transport {
  const login = mailLogin(settings)
  const { SMTP_CA_FILE: caFile } = settings
  const transport = createTransport({
    url: settings.SMTP_URL,
    ...(caFile !== undefined && { tls: { ca: readFileSync(caFile) } }),
    ...(login !== undefined && byAccessToken(login)),
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
      try {
        await transport.sendMail(signal === undefined ? mail : { ...mail, signal })
      } catch (error) {
        throw explained(error)
      }
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

/** Returns the options of a login by XOAUTH2. An access token is never sent without TLS. */
function byAccessToken(login: MailLogin) {
  const tokens = openAccessTokens(login)
  return {
    requireTLS: true,
    auth: {
      type: 'OAuth2' as const,
      provisionCallback(
        _user: string,
        renew: boolean,
        answer: (error: Error | null, token?: string, expiresAt?: number) => void,
      ) {
        tokens.token(renew).then(
          ({ value, expiresAt }) => answer(null, value, expiresAt),
          (error: Error) => answer(error),
        )
      },
    },
  }
}

/**
 * Adds what failed to an error of TLS or of the login, since the words of OpenSSL do not name the mail server. Returns
 * all other errors as they are: their codes decide whether a mail is tried again.
 */
function explained(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const original = 'originalCode' in error ? String(error.originalCode) : ''
  if (error.code === 'ETLS' || /CERT|SSL|TLS|UNABLE_TO/.test(original))
    return new Error(`no TLS with the mail server: ${error.message}`, { cause: error })
  if (error.code === 'EAUTH' || error.code === 'EOAUTH2')
    return new Error(`no login at the mail server: ${error.message}`, { cause: error })
  return error
}
