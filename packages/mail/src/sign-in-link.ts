import { type Content, renderContent } from './content.ts'

/** The e-mail with the link that signs somebody in to the dashboard. It names neither app nor person. */
export function signInLink({ url, minutes }: { url: string; minutes: number }): Content {
  return renderContent(
    'Sign in to Sluice',
    [
      `Somebody, hopefully you, asked to sign in to the Sluice dashboard with this address. The link works once, within ${minutes} minutes.`,
      'If it was not you, ignore this mail: without the link nobody gets in.',
    ],
    { url, label: 'Sign in' },
  )
}
