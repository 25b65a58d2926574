import { once } from 'node:events'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import { type Mail, readMail } from './mail.ts'

/** The largest mail that the server accepts. */
const largestMailBytes = 2 * 1024 * 1024

/** An SMTP server that catches every mail. */
export interface SmtpServer {
  port: number
  close(): Promise<void>
}

/**
 * Starts an SMTP server that accepts mails to every recipient and passes them to `keep`. It confirms a mail when `keep`
 * resolves.
 *
 * The server has no login and no TLS, because it is for its own machine only. Throws the system's error if the port
 * cannot be bound.
 */
export async function startSmtp(
  host: string,
  port: number,
  keep: (mail: Omit<Mail, 'id' | 'received_at'>) => Promise<void>,
): Promise<SmtpServer> {
  const server = new SMTPServer({
    name: 'sluice',
    banner: 'Sluice inbox',
    size: largestMailBytes,
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
  // A client that disconnects in the middle of a mail must not end the process.
  server.on('error', () => {})
  const address = listening.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () => new Promise((closed) => server.close(closed)),
  }
}

/** Reads one mail to its end. Rejects with the SMTP answer if the mail is too large or malformed. */
async function receive(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  keep: (mail: Omit<Mail, 'id' | 'received_at'>) => Promise<void>,
): Promise<void> {
  const chunks: Buffer[] = []
  // Beyond the limit, the rest is read and dropped: the client reads the answer only after it has sent everything.
  for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk)
  if (stream.sizeExceeded) throw answer(552, `a mail has at most ${largestMailBytes} bytes here`)
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
