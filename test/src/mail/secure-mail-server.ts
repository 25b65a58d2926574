import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerAuthentication } from 'smtp-server'
import { listenOn } from '../environment/free-port.ts'

export interface SecureMailServer {
  port: number
  /** The mails that were accepted: their recipients, how the sender logged in, and whether TLS protected them. */
  received: { to: string; login: string; isSecure: boolean }[]
  logins: SMTPServerAuthentication[]
  /** Ends all connections, so that the next mail needs a new login. */
  disconnect(): void
  close(): Promise<void>
}

interface Options {
  /** TLS from the first byte, by STARTTLS, or none. */
  tls: 'implicit' | 'starttls' | 'none'
  certificate: { certificate: string; key: string }
  /** Whether a login is right. */
  accepts(login: SMTPServerAuthentication): boolean | Promise<boolean>
}

export async function startSecureMailServer({ tls, certificate, accepts }: Options): Promise<SecureMailServer> {
  const received: SecureMailServer['received'] = []
  const logins: SMTPServerAuthentication[] = []
  const smtp = new SMTPServer({
    secure: tls === 'implicit',
    cert: await readFile(certificate.certificate),
    key: await readFile(certificate.key),
    authMethods: ['PLAIN', 'LOGIN', 'XOAUTH2'],
    allowInsecureAuth: tls === 'none',
    disabledCommands: tls === 'starttls' ? [] : ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 100,
    onAuth(login, _session, answer) {
      logins.push(login)
      Promise.resolve(accepts(login)).then(
        (isRight) => answer(null, isRight ? { user: login.method } : {}),
        (error: Error) => answer(error),
      )
    },
    async onData(stream, session, answer) {
      await text(stream)
      for (const { address } of session.envelope.rcptTo)
        received.push({ to: address, login: String(session.user), isSecure: session.secure })
      answer(null)
    },
  })
  smtp.on('error', () => {}) // a client that does not accept the certificate
  const port = await listenOn(smtp.server)
  return {
    port,
    received,
    logins,
    disconnect() {
      for (const connection of smtp.connections) connection.close()
    },
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  }
}
