import { type Content, renderContent } from './content.ts'
import { quoted } from './quoted.ts'

/** A person who was added to an app and has to confirm the address. */
export interface Invited {
  /** The address to confirm. */
  email: string
  /** The address of the member who added the person. */
  invitedBy: string
  appName: string
  url: string
  /** Days for which the link is valid. */
  days: number
}

/**
 * Returns the mail that asks a person to confirm an address. The mail contains only three texts that other people
 * chose: two addresses, and the app's name in quotes.
 */
export function invitation({ email, invitedBy, appName, url, days }: Invited): Content {
  return renderContent(
    'Confirm your address for Sluice',
    [
      `${invitedBy} has added ${email} to the members of the app ${quoted(appName, 60)} in Sluice. Members can sign in to its dashboard, and get mails about its imports.`,
      `If you expect this, confirm the address. The link is for ${email}. It works once, within ${days} days.`,
      'If you do not expect this, ignore this mail: no other mail is sent to this address unless it is confirmed.',
    ],
    { url, label: 'View the invitation' },
  )
}

/** Returns the mail with a sign-in link for the dashboard. It names neither an app nor a person. */
export function signInLink({ url, minutes }: { url: string; minutes: number }): Content {
  return renderContent(
    'Sign in to Sluice',
    [
      `Somebody, hopefully you, asked to sign in to the Sluice dashboard with this address. The link works once, within ${minutes} minutes.`,
      'If it was not you, ignore this mail: nobody can sign in without the link.',
    ],
    { url, label: 'Sign in' },
  )
}
