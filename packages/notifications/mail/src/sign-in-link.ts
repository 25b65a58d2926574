import { type Content, renderContent } from './content.ts'

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
