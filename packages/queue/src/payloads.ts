import type { queueNames } from '@sluice/config'

export type QueueName = (typeof queueNames)[number]

/**
 * What a job carries: IDs only. Postgres holds the truth, so that a job can be lost or doubled without harm
 * (design.md §4), and no text of a client ever gets into the queue.
 */
export interface Payloads {
  imports: { appId: number; importId: string }
  mails: { appId: number; mailId: string }
  maintenance: Record<string, never>
}
