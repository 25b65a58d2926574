import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { listenOn } from '../../environment/free-port.ts'

/** The parts of a received mail that tests need to distinguish mails. */
interface ReceivedMail {
  to: string
  messageId: string
}

/** A mail server that records the mails it receives, and that tests can make misbehave. */
export interface MailServer {
  port: number
  received: ReceivedMail[]
  /** If set, the server calls this function instead of confirming a mail to its sender. */
  insteadOfAnswer: (() => void) | undefined
  close(): Promise<void>
}

/**
 * Starts a mail server that permanently rejects every recipient whose address begins with `rejected`. With
 * `pipelining: false`, clients wait for each answer before they send the next command.
 */
export async function startMailServer({ pipelining = true } = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    hidePIPELINING: !pipelining,
    logger: false,
    closeTimeout: 100,
    onRcptTo({ address }, _session, answer) {
      if (!address.startsWith('rejected')) return answer(null)
      answer(Object.assign(new Error('no such mailbox'), { responseCode: 550 }))
    },
    async onData(stream, session, answer) {
      const source = await text(stream).catch(() => '')
      const messageId = /^Message-ID: (.*)$/im.exec(source)?.[1]?.trim() ?? ''
      for (const { address } of session.envelope.rcptTo) received.push({ to: address, messageId })
      if (server.insteadOfAnswer === undefined) answer(null)
      else server.insteadOfAnswer()
    },
  })
  smtp.on('error', () => {})
  const port = await listenOn(smtp.server)
  const server: MailServer = {
    port,
    received,
    insteadOfAnswer: undefined,
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  }
  return server
}
