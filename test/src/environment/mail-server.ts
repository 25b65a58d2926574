import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerAuthentication, type SMTPServerOptions } from 'smtp-server'
import { listenOn } from './free-port.ts'

interface ReceivedMail {
  to: string
  messageId: string
  /** How the sender logged in. Undefined without a login. */
  login: string | undefined
  /** Whether TLS protected the mail. */
  isSecure: boolean
}

/** A mail server that records the mails it receives, and that tests can make misbehave. */
export interface MailServer {
  port: number
  received: ReceivedMail[]
  logins: SMTPServerAuthentication[]
  /** If set, the server calls this function instead of confirming a mail to its sender. */
  insteadOfAnswer: (() => void) | undefined
  /** Ends all connections, so that the next mail needs a new login. */
  disconnect(): void
  close(): Promise<void>
}

/** What protects a mail server. */
export interface MailProtection {
  /** TLS from the first byte, by STARTTLS, or none. */
  tls: 'implicit' | 'starttls' | 'none'
  certificate: { certificate: string; key: string }
  /** Whether a login is right. */
  accepts(login: SMTPServerAuthentication): boolean | Promise<boolean>
}

/**
 * Starts a mail server that permanently rejects every recipient whose address begins with `rejected`. With
 * `pipelining: false`, clients wait for each answer before they send the next command. Without `protection`, the server
 * has neither TLS nor logins.
 */
export async function startMailServer({
  pipelining = true,
  protection,
}: {
  pipelining?: boolean
  protection?: MailProtection
} = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const logins: SMTPServerAuthentication[] = []
  const unprotected = { authOptional: true, disabledCommands: ['AUTH', 'STARTTLS'] }
  const smtp = new SMTPServer({
    ...(protection === undefined ? unprotected : await protectedBy(protection, logins)),
    disableReverseLookup: true,
    hidePIPELINING: !pipelining,
    logger: false,
    closeTimeout: 100,
    onRcptTo({ address }, _session, answer) {
      if (!address.startsWith('rejected')) return answer(null)
      answer(Object.assign(new Error('no such mailbox'), { responseCode: 550 }))
    },
    async onData(stream, { envelope, user, secure }, answer) {
      const source = await text(stream).catch(() => '')
      const messageId = /^Message-ID: (.*)$/im.exec(source)?.[1]?.trim() ?? ''
      for (const { address } of envelope.rcptTo)
        received.push({ to: address, messageId, login: user, isSecure: secure })
      if (server.insteadOfAnswer === undefined) answer(null)
      else server.insteadOfAnswer()
    },
  })
  smtp.on('error', () => {}) // such as a client that does not accept the certificate
  const port = await listenOn(smtp.server)
  const server: MailServer = {
    ...{ port, received, logins, insteadOfAnswer: undefined },
    disconnect() {
      for (const connection of smtp.connections) connection.close()
    },
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  }
  return server
}

async function protectedBy(
  { tls, certificate, accepts }: MailProtection,
  logins: SMTPServerAuthentication[],
): Promise<SMTPServerOptions> {
  return {
    secure: tls === 'implicit',
    cert: await readFile(certificate.certificate),
    key: await readFile(certificate.key),
    authMethods: ['PLAIN', 'LOGIN', 'XOAUTH2'],
    allowInsecureAuth: tls === 'none',
    disabledCommands: tls === 'starttls' ? [] : ['STARTTLS'],
    onAuth(login, _session, answer) {
      logins.push(login)
      Promise.resolve(accepts(login)).then(
        (isRight) => answer(null, isRight ? { user: login.method } : {}),
        (error: Error) => answer(error),
      )
    },
  }
}
