/** The events that an app's webhook endpoints may choose (second-day.md §5, Endpoints). */
export const webhookEvents = [
  'import.held',
  'import.completed',
  'import.failed',
  'import.cancelled',
  'import.expired',
  'export.completed',
  'deletion.completed',
] as const

export type WebhookEvent = (typeof webhookEvents)[number]

/** The event of a test delivery. It goes to one endpoint, whatever events the endpoint has chosen. */
export const webhookTest = 'webhook.test'

/** The body of a delivery. `data` depends on the type. */
export interface WebhookBody {
  type: WebhookEvent | typeof webhookTest
  /** When the event happened, ISO 8601 in UTC. */
  timestamp: string
  data: object
}
