import { type Content, renderContent } from './content.ts'
import { quoted } from './quoted.ts'

/** All deletions of an app that complete on one day (service.md, Events). */
export interface CompletedDeletion {
  appName: string
  /** `YYYY-MM-DD`. */
  day: string
  /** Deleted users who were registered. */
  usersDeleted: number
}

/** Returns the deletion complete mail. It names no user, because the user IDs are deleted. */
export function deletionNotification({ appName, day, usersDeleted }: CompletedDeletion): Content {
  const count = new Intl.NumberFormat('en-US').format(usersDeleted)
  return renderContent(`User deletion completed: ${count} ${usersDeleted === 1 ? 'user' : 'users'} deleted`, [
    `The user deletion of the app ${quoted(appName)} that was due on ${day} has completed.`,
    { facts: { 'Registered users deleted': count } },
    'The users, all their profile values and the stored files of imports that had ended are gone, and the user IDs are no longer registered. IDs in the requests that were not registered needed no deletion.',
  ])
}
