import { dueExports } from '@sluice/exports'
import { type MailId, nextMails } from '@sluice/mail'
import { dueDeliveries } from '@sluice/webhooks'
import type { Host } from './host.ts'

/**
 * Enqueues jobs for the exports that a worker can claim. The ID of a job contains the attempt, so the next claim of the
 * same export gets a new job.
 */
export async function dispatchExports({ context, queues }: Host): Promise<void> {
  const due = await dueExports(context.db)
  await queues.add(
    'exports',
    due.map(({ appId, exportId, attempt }) => ({ id: `${exportId}-${attempt}`, payload: { appId, exportId } })),
  )
}

/** Enqueues jobs for mails of the outbox. A mail that is already in the queue is not added again. */
export async function dispatchMails({ queues }: Host, mails: readonly MailId[]): Promise<void> {
  await queues.add(
    'mails',
    mails.map((mail) => ({ id: mail.mailId, payload: mail })),
  )
}

/** Enqueues the next mails of each app that has new mails. The app's earlier mails come first. */
export async function dispatchNextMails(host: Host, added: readonly MailId[]): Promise<void> {
  for (const appId of new Set(added.map((mail) => mail.appId))) {
    await dispatchMails(host, await nextMails(host.context.db, appId))
  }
}

/** Maximum number of webhook deliveries that one run enqueues. */
const deliveriesPerRun = 1_000

/**
 * Enqueues jobs for the webhook deliveries that are due. A delivery that is already in the queue is not added again.
 * The ID of a job contains the attempt, so after a worker died, the next attempt does not wait for the dead worker's
 * job.
 */
export async function dispatchDeliveries({ context, queues }: Host): Promise<void> {
  const due = await dueDeliveries(context.db, deliveriesPerRun)
  await queues.add(
    'webhooks',
    due.map(({ appId, deliveryId, attempt }) => ({ id: `${deliveryId}-${attempt}`, payload: { appId, deliveryId } })),
  )
}
