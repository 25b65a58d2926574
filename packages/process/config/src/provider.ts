import { SettingsError } from './read.ts'
import type { Settings } from './settings.ts'

/** The names of the settings that determine how people sign in. */
export const signInSettings = [
  'OIDC_ISSUER',
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'OIDC_OPERATOR_GROUP',
  'SIGN_IN_MAIL',
] as const

/** An OpenID Connect provider, and the dashboard as its client. */
export interface ProviderSettings {
  issuer: string
  clientId: string
  clientSecret: string
  /** Members of this group at the provider are operators. */
  operatorGroup: string | undefined
}

/**
 * Returns the provider that people sign in with, or undefined if only mailed links sign in
 * (second-day.md §6, SIGN_IN_MAIL). Throws {@link SettingsError} if a setting of the provider is missing, or if nobody
 * could sign in.
 */
export function providerSettings(settings: Settings<(typeof signInSettings)[number]>): ProviderSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = settings
  if (issuer === undefined) {
    if (settings.SIGN_IN_MAIL === 'off')
      throw new SettingsError('Settings:\n  SIGN_IN_MAIL is off, and OIDC_ISSUER is not set: nobody could sign in')
    return undefined
  }
  if (clientId === undefined || clientSecret === undefined)
    throw new SettingsError('Settings:\n  OIDC_ISSUER is set: OIDC_CLIENT_ID and OIDC_CLIENT_SECRET are required too')
  return { issuer, clientId, clientSecret, operatorGroup: settings.OIDC_OPERATOR_GROUP }
}
