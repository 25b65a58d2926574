import { countWaiting, takeTurns } from '@sluice/imports'
import { type MailId, nextMails } from '@sluice/mail'
import type { Host } from './host.ts'

/**
 * Enqueues the imports that are next in order, in all apps or in one. A job stands for any of those that wait: the worker that
 * takes it claims the one that is to run first (`claimNext`). So one that waits for long has a job as long as none is lost.
 */
export async function dispatch({ context, queues }: Host, appId?: number): Promise<void> {
  const turns = await takeTurns(context, appId)
  const again = turns.filter((turn) => turn.again)
  const jobs = turns.filter((turn) => !turn.again)
  if (again.length > 0) {
    const lost = (await countWaiting(context)) - jobs.length - (await queues.waiting('imports'))
    jobs.push(...again.slice(0, Math.max(0, lost)))
  }
  await queues.add(
    'imports',
    jobs.map(({ jobId, appId, importId }) => ({ id: jobId, payload: { appId, importId } })),
  )
}

/** Enqueues mails of the outbox; one that waits in the queue is not added again. */
export async function enqueueMails({ queues }: Host, mails: readonly MailId[]): Promise<void> {
  await queues.add(
    'mails',
    mails.map((mail) => ({ id: mail.mailId, payload: mail })),
  )
}

/** Enqueues what is next of the apps that have these new mails: earlier mails of an app come first, and the others later. */
export async function enqueueNextMails(host: Host, added: readonly MailId[]): Promise<void> {
  for (const appId of new Set(added.map((mail) => mail.appId))) {
    await enqueueMails(host, await nextMails(host.context.db, appId))
  }
}
