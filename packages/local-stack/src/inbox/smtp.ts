import { once } from 'node:events'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import { type Mail, readMail } from './mail.ts'

/** Largest mail taken, in bytes. */
const LARGEST_MAIL = 2 * 1024 * 1024

/** An SMTP server that catches every mail. */
export interface SmtpServer {
  port: number
  close(): Promise<void>
}

/**
 * Starts an SMTP server that takes mails to anybody and hands each to `keep`; a mail is confirmed once that settles.
 *
 * No log-in and no TLS: it is for the machine it runs on. Throws the system's error where the port can't be bound.
 */
export async function startSmtp(
  host: string,
  port: number,
  keep: (mail: Omit<Mail, 'id' | 'received_at'>) => Promise<void>,
): Promise<SmtpServer> {
  const server = new SMTPServer({
    name: 'sluice',
    banner: 'Sluice inbox',
    size: LARGEST_MAIL,
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    maxClients: 100,
    closeTimeout: 1000,
    onData(stream, session, callback) {
      receive(stream, session, keep).then(
        () => callback(),
        (error: Error) => callback(error),
      )
    },
  })
  const listening = server.listen(port, host)
  await once(listening, 'listening')
  // A client that goes away in the middle of a mail is no reason to end.
  server.on('error', () => {})
  const address = listening.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () => new Promise((closed) => server.close(closed)),
  }
}

/** Reads one mail to its end; rejects with the SMTP answer for one that is too large or makes no sense. */
async function receive(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  keep: (mail: Omit<Mail, 'id' | 'received_at'>) => Promise<void>,
): Promise<void> {
  const chunks: Buffer[] = []
  // Past the limit the rest is read and dropped: the client listens for an answer only when it has sent everything.
  for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk)
  if (stream.sizeExceeded) throw answer(552, `a mail has at most ${LARGEST_MAIL} bytes here`)
  const { mailFrom, rcptTo } = session.envelope
  const envelope = {
    to: rcptTo.map(({ address }) => address),
    from: mailFrom === false ? '' : mailFrom.address,
  }
  const mail = await readMail(Buffer.concat(chunks), envelope).catch(() => {
    throw answer(554, 'the mail is malformed')
  })
  await keep(mail)
}

function answer(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
