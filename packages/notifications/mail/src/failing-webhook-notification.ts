import { type Content, renderContent } from './content.ts'
import { quoted } from './quoted.ts'

/** A webhook endpoint that has refused an event for three days. */
export interface FailingWebhook {
  appName: string
  url: string
  /** Why the last attempt failed. */
  error: string
}

/** Returns the mail about an endpoint that is failing (second-day.md §5, Failing endpoints). */
export function failingWebhookNotification({ appName, url, error }: FailingWebhook): Content {
  return renderContent('Webhook endpoint failing', [
    `An event of the app ${quoted(appName)} could not be delivered to a webhook endpoint for three days.`,
    { facts: { Endpoint: quoted(url, 300), 'Last attempt': quoted(error, 300) } },
    'Further events are still sent to the endpoint. Correct the problem, then send the failed deliveries again on the page Webhooks of the dashboard. Until a delivery succeeds, no other mail about this endpoint is sent.',
  ])
}

/** Returns the mail about an endpoint whose receiver said that it is gone (second-day.md §5, Failing endpoints). */
export function disabledWebhookNotification({ appName, url, error }: FailingWebhook): Content {
  return renderContent('Webhook endpoint disabled', [
    `The receiver of a webhook endpoint of the app ${quoted(appName)} has said that it wants nothing more.`,
    { facts: { Endpoint: quoted(url, 300), 'Last attempt': quoted(error, 300) } },
    'Nothing more is sent to the endpoint. If that is wrong, enable it again on the page Webhooks of the dashboard.',
  ])
}
