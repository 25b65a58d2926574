import type { Host, Stop } from './host.ts'

const concurrentMails = 2

/** Sends the mails of the outbox. */
export function hostMails({ context, queues, mailer, metrics }: Host): Stop {
  queues.work(
    'mails',
    async (mail) => {
      const result = await mailer.send(mail)
      metrics.mailTried(result.outcome)
      const about = { app_id: mail.appId, mail_id: mail.mailId }
      if (result.outcome === 'sent') context.log.info(about, 'mail sent')
      else if (result.outcome !== 'not due') {
        context.log.warn({ ...about, attempt: result.attempt, error: result.error }, `mail ${result.outcome}`)
      }
    },
    { concurrency: concurrentMails },
  )
  return () => {}
}
