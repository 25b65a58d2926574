import { addressOf } from '../ports.ts'
import { openMailbox } from './mailbox.ts'
import { startSmtp } from './smtp.ts'
import { startWeb } from './web.ts'

/** What {@link startInbox} takes. */
export interface InboxOptions {
  /** Address to listen on, such as `127.0.0.1`. */
  host: string
  /** Port of the web pages; 0 picks a free one. */
  httpPort: number
  /** Port for mails; 0 picks a free one. */
  smtpPort: number
  /** Where the mails are kept; made where it is missing. */
  folder: string
}

/** An inbox that takes mails. */
export interface RunningInbox {
  /** Web pages, and JSON under `/api/mails`. */
  url: string
  smtpUrl: string
  /** Ends both servers; the mails stay. */
  close(): Promise<void>
}

/**
 * Starts an inbox that catches every mail sent to it by SMTP, and shows them on the web.
 *
 * `GET /api/mails` gives them as JSON, newest first (design.md §2). The newest 1,000 are kept, over restarts too.
 * Throws the system's error where a port can't be bound.
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
