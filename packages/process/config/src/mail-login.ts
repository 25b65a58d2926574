import { SettingsError } from './read.ts'
import type { Settings } from './settings.ts'

/** The names of the settings that determine how a process logs in at the mail server. */
export const mailLoginSettings = [
  'SMTP_URL',
  'SMTP_OAUTH2_TOKEN_URL',
  'SMTP_OAUTH2_CLIENT_ID',
  'SMTP_OAUTH2_CLIENT_SECRET',
  'SMTP_OAUTH2_REFRESH_TOKEN',
  'SMTP_OAUTH2_SCOPE',
] as const

/** How access tokens for the mail server are requested. */
export interface MailLogin {
  tokenUrl: string
  clientId: string
  clientSecret: string | undefined
  /** Without a refresh token, the client requests access tokens for itself. */
  refreshToken: string | undefined
  scope: string | undefined
}

/**
 * Returns how to log in at the mail server by OAuth 2.0, or undefined if the login is in `SMTP_URL` or not needed.
 * Throws {@link SettingsError} if the settings contradict each other or one is missing (second-day.md §7, Mail).
 */
export function mailLogin(settings: Settings<(typeof mailLoginSettings)[number]>): MailLogin | undefined {
  const { SMTP_OAUTH2_TOKEN_URL: tokenUrl, SMTP_OAUTH2_CLIENT_ID: clientId } = settings
  const { SMTP_OAUTH2_CLIENT_SECRET: clientSecret, SMTP_OAUTH2_REFRESH_TOKEN: refreshToken } = settings
  const { SMTP_OAUTH2_SCOPE: scope } = settings
  if (tokenUrl === undefined) {
    if (clientId !== undefined || clientSecret !== undefined || refreshToken !== undefined || scope !== undefined)
      throw problem('other settings of SMTP_OAUTH2 are set: SMTP_OAUTH2_TOKEN_URL is required too')
    return undefined
  }
  if (clientId === undefined) throw problem('SMTP_OAUTH2_TOKEN_URL is set: SMTP_OAUTH2_CLIENT_ID is required too')
  if (clientSecret === undefined && refreshToken === undefined)
    throw problem(
      'SMTP_OAUTH2_TOKEN_URL is set: SMTP_OAUTH2_CLIENT_SECRET or SMTP_OAUTH2_REFRESH_TOKEN is required too',
    )
  const { username, password } = new URL(settings.SMTP_URL)
  if (username === '') throw problem('SMTP_OAUTH2_TOKEN_URL is set: SMTP_URL must name the user')
  if (password !== '') throw problem('SMTP_URL has a password, and SMTP_OAUTH2_TOKEN_URL is set: keep one of them')
  return { tokenUrl, clientId, clientSecret, refreshToken, scope }
}

function problem(text: string): SettingsError {
  return new SettingsError(`Settings:\n  ${text}`)
}
