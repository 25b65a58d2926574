import { addressOf } from '../ports.ts'
import { openMailbox } from './mailbox.ts'
import { startSmtp } from './smtp.ts'
import { startWeb } from './web.ts'

/** Options of {@link startInbox}. */
export interface InboxOptions {
  /** Address to listen on, such as `127.0.0.1`. */
  host: string
  /** Port of the web pages; 0 picks a free port. */
  httpPort: number
  /** Port of the SMTP server; 0 picks a free port. */
  smtpPort: number
  /** Folder of the mails; created if it is missing. */
  folder: string
}

/** An inbox that accepts mails. */
export interface RunningInbox {
  /** Web pages, and JSON under `/api/mails`. */
  url: string
  smtpUrl: string
  /** Stops both servers. The mails stay on disk. */
  close(): Promise<void>
}

/**
 * Starts an inbox that accepts every mail by SMTP and shows the mails on the web.
 *
 * `GET /api/mails` returns them as JSON, newest first (design.md §2, Inbox). The newest 1,000 mails are kept, also over
 * restarts. Throws the system's error if a port cannot be bound.
 */
export async function startInbox({ host, httpPort, smtpPort, folder }: InboxOptions): Promise<RunningInbox> {
  const mailbox = await openMailbox(folder)
  const smtp = await startSmtp(host, smtpPort, mailbox.add)
  const web = await startWeb(host, httpPort, mailbox).catch(async (error: unknown) => {
    await smtp.close()
    throw error
  })
  return {
    url: addressOf('http', host, web.port),
    smtpUrl: addressOf('smtp', host, smtp.port),
    async close() {
      await Promise.all([smtp.close(), web.close()])
    },
  }
}
