import type { queueNames } from '@sluice/config'

export type QueueName = (typeof queueNames)[number]

/**
 * The payload of each queue's jobs. A job carries only IDs: Postgres is the source of truth, so a job can be lost or
 * duplicated without harm (design.md §4, No lost work). No text of a client ever enters the queue.
 */
export interface Payloads {
  imports: { appId: number; importId: string }
  exports: { appId: number; exportId: string }
  mails: { appId: number; mailId: string }
  webhooks: { appId: number; deliveryId: string }
  maintenance: Record<string, never>
}
