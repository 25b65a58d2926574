import { takeTurns } from '@sluice/imports'
import type { MailId } from '@sluice/mail'
import type { Host } from './host.ts'

/** Enqueues the imports whose turn it is, in all apps or in one. */
export async function dispatch({ context, queues }: Host, appId?: number): Promise<void> {
  const turns = await takeTurns(context, appId)
  const jobs = turns.map(({ jobId, appId, importId }) => ({ id: jobId, payload: { appId, importId } }))
  await queues.add('imports', jobs)
}

/** Enqueues mails of the outbox; one that waits in the queue is not added again. */
export async function enqueueMails({ queues }: Host, mails: readonly MailId[]): Promise<void> {
  await queues.add(
    'mails',
    mails.map((mail) => ({ id: mail.mailId, payload: mail })),
  )
}
