import { type Content, renderContent } from './content.ts'
import { quoted } from './quoted.ts'

/** Somebody who was added to an app, as the mail that has the address confirmed tells of it. */
export interface Invited {
  /** Whose link it is. */
  email: string
  /** The address of whoever added them. */
  invitedBy: string
  appName: string
  url: string
  days: number
}

/** The mail that has an address confirmed. Of what others chose it holds two addresses, and the app's name in quotes. */
export function invitation({ email, invitedBy, appName, url, days }: Invited): Content {
  return renderContent(
    'Confirm your address for Sluice',
    [
      `${invitedBy} has added ${email} to the members of the app ${quoted(appName, 60)} in Sluice. Members may sign in to its dashboard, and get mails about its imports.`,
      `If you expect this, confirm the address. The link is for ${email}. It works once, within ${days} days.`,
      'If you do not, ignore this mail: without the link no other mail comes to this address.',
    ],
    { url, label: 'Look at the invitation' },
  )
}
