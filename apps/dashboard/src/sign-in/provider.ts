import type { ProviderSettings } from '@sluice/config'
import { type IdentityProvider, openProvider, type Signer } from '@sluice/sign-in'

/** The path to which the provider sends people back. It must be registered at the provider. */
export const callbackPath = '/sign-in/provider/callback'

/** Opens the OpenID Connect provider for a dashboard at this address. */
export function openDashboardProvider(
  provider: ProviderSettings,
  dashboardUrl: string,
  signer: Signer,
): IdentityProvider {
  const urls = { callbackUrl: `${dashboardUrl}${callbackPath}`, signedOutUrl: `${dashboardUrl}/sign-in` }
  return openProvider({ ...provider, ...urls }, signer)
}
