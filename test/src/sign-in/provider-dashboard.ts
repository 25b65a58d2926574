import assert from 'node:assert/strict'
import { providerSettings, readSettings, signInSettings } from '@sluice/config'
import { openDashboardProvider } from '@sluice/dashboard-app/src/sign-in/provider.ts'
import { openSigner } from '@sluice/sign-in'
import { openTestDashboard, type TestDashboard } from '../dashboard/test-dashboard.ts'
import { openVisitor, type Visitor } from '../dashboard/visitor.ts'
import { startProvider, type TestProvider } from './identity-provider.ts'

export interface ProviderDashboard {
  dashboard: TestDashboard
  provider: TestProvider
  close(): Promise<void>
}

type Context = Parameters<typeof openTestDashboard>[0]

/** Opens a dashboard with an OpenID Connect provider. Members of the provider's group `operations` are operators. */
export async function openProviderDashboard(more: Context = async () => ({})): Promise<ProviderDashboard> {
  let provider: TestProvider | undefined
  const dashboard = await openTestDashboard(async (database, url) => {
    provider = await startProvider(url)
    const settings = providerSettings(readSettings(environmentOf(provider), signInSettings))
    assert(settings)
    const signer = openSigner(database.db)
    return { provider: openDashboardProvider(settings, url, signer), ...(await more(database, url)) }
  })
  assert(provider)
  const started = provider
  return {
    dashboard,
    provider: started,
    async close() {
      await dashboard.close()
      await started.stop()
    },
  }
}

/** Returns the settings of a dashboard whose people sign in at a provider. */
export function environmentOf({ issuer }: TestProvider): Record<string, string> {
  return {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: 'sluice',
    OIDC_CLIENT_SECRET: 'secret of the dashboard',
    OIDC_OPERATOR_GROUP: 'operations',
  }
}

/** A person's browser, which keeps the cookies of the dashboard and of the provider. */
export interface PersonsBrowser {
  atDashboard: Visitor
  atProvider: Visitor
}

export function openPersonsBrowser({ dashboard, provider }: Omit<ProviderDashboard, 'close'>): PersonsBrowser {
  return { atDashboard: openVisitor(dashboard), atProvider: openVisitor({ url: provider.issuer }) }
}

/** Follows redirects from an address of the provider. Returns the address of the dashboard that they lead to. */
export async function passProvider(
  { atProvider }: PersonsBrowser,
  address: string | null,
  issuer: string,
): Promise<string> {
  let next = new URL(address ?? '', issuer)
  for (let steps = 0; next.origin === issuer; steps++) {
    const answer = await atProvider.get(next.href)
    assert(
      steps < 10 && answer.status >= 300 && answer.status < 400,
      `${next.pathname}: ${answer.status} ${answer.text}`,
    )
    next = new URL(answer.headers.get('location') ?? '', next)
  }
  return next.href
}

/** Goes to the provider and back. Returns the callback's address, which the browser has not opened yet. */
export async function reachCallback(
  browser: PersonsBrowser,
  issuer: string,
  start = '/sign-in/provider',
): Promise<string> {
  const begun = await browser.atDashboard.get(start)
  assert.equal(begun.status, 303, begun.text)
  return await passProvider(browser, begun.headers.get('location'), issuer)
}

/** Signs in at the provider. Returns the answer of the callback. */
export async function signInThere(browser: PersonsBrowser, issuer: string, start?: string) {
  return await browser.atDashboard.get(await reachCallback(browser, issuer, start))
}
