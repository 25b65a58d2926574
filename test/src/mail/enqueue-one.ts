import type { Database } from '@sluice/database'
import { enqueueMails } from '@sluice/mail'

export const content = { subject: 'Hello', text: 'text', html: '<p>html</p>' }

/** Enqueues the mail of an event to the app's first member, and returns it. */
export async function enqueueOne(db: Database, appId: number) {
  const [mail] = await enqueueMails(db, appId, 'import:1', content)
  if (mail === undefined) throw new Error('the app has no member, or the event has its mail already')
  return mail
}
