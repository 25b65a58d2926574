import { dispatchNextMails } from './dispatch.ts'
import type { Host, Stop } from './host.ts'

/**
 * Maximum number of attempts that one process has in flight. Attempts mostly wait for receivers. One app has at most
 * eight attempts in flight (`packages/notifications/webhooks/src/outbox.ts`), so a dozen apps with slow receivers leave
 * room for others.
 */
const concurrentDeliveries = 100

/**
 * Sends the webhook deliveries of the outbox. The stop aborts the attempts in flight, and other workers repeat them at
 * once.
 */
export function hostWebhooks(host: Host): Stop {
  const { context, queues, deliverer, metrics } = host
  if (deliverer === undefined) throw new Error('the process lacks the settings of webhooks')
  const shutdown = new AbortController()
  queues.work(
    'webhooks',
    async (delivery) => {
      const result = await deliverer.deliver(delivery, shutdown.signal)
      metrics.deliveryTried(result.outcome)
      const about = { app_id: delivery.appId, delivery_id: delivery.deliveryId }
      if (result.outcome === 'delivered') context.log.info(about, 'webhook delivered')
      else if ('error' in result) {
        const { outcome, mails, ...failure } = result
        context.log.warn({ ...about, ...failure }, `webhook ${outcome}`)
        await dispatchNextMails(host, mails)
      }
    },
    { concurrency: concurrentDeliveries },
  )
  return () => shutdown.abort()
}
