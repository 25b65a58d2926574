import type { Configuration } from 'openid-client'
import type { Signer } from '../signer.ts'
import { beginAttempt, findAttempt } from './attempt.ts'
import { type Identity, joinClaims, lacksClaims, readIdentity, SignInRefused } from './identity.ts'

/** The library is only loaded if a provider is configured. */
type Library = typeof import('openid-client')

/** A provider whose description has been read. */
interface Described {
  library: Library
  provider: Configuration
}

/** How long each request to the provider may take, seconds. */
const defaultLimits = { requestSeconds: 10 }

/** How long the provider's metadata document is used before it is read again, ms. */
const descriptionMs = 60 * 60_000

/** The provider, and the dashboard as its client. */
export interface ProviderOptions {
  issuer: string
  clientId: string
  clientSecret: string
  operatorGroup: string | undefined
  /**
   * The dashboard's address to which the provider sends people after sign-in. It must be registered at the provider.
   */
  callbackUrl: string
  /** The dashboard's address to which the provider sends people after they sign out at the provider. */
  signedOutUrl: string
}

/** An OpenID Connect provider that signs people in. */
export interface IdentityProvider {
  /** The host of the issuer, which people know. */
  name: string
  /**
   * Begins a sign-in in a browser. Returns the address of the provider that the browser must open. Throws
   * {@link ProviderUnavailable}.
   */
  begin(browser: string, returnPath: string): Promise<string>
  /**
   * Finishes a sign-in: `query` is what the provider added to the callback's address. Throws {@link SignInRefused} or
   * {@link ProviderUnavailable}.
   */
  finish(browser: string, query: URLSearchParams): Promise<{ identity: Identity; returnPath: string }>
  /**
   * Returns the address that ends the session at the provider; undefined if the provider offers none or does not
   * answer.
   */
  signOutUrl(): Promise<string | undefined>
}

/** The provider cannot be reached, fails, or does not accept the dashboard as its client. No secret in the message. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

/**
 * Opens a provider (second-day.md §6, OpenID Connect): code flow with PKCE, state and nonce. The first sign-in reads
 * the provider's description.
 */
export function openProvider(options: ProviderOptions, signer: Signer, limits = defaultLimits): IdentityProvider {
  const { issuer, callbackUrl } = options
  const describe = cached(() => discover(options, limits))

  /** Runs requests to the provider. Throws errors without the answer, which may contain secrets. */
  async function ask<Result>(requests: (described: Described) => Promise<Result>): Promise<Result> {
    try {
      return await requests(await describe())
    } catch (error) {
      throw readable(error)
    }
  }

  return {
    name: new URL(issuer).host,
    async begin(browser, target) {
      const attempt = await beginAttempt(signer, browser, target)
      return await ask((described) => signInUrl(described, options, attempt))
    },
    async finish(browser, query) {
      const attempt = await findAttempt(signer, browser, query.get('state') ?? '')
      if (attempt === undefined) throw new SignInRefused('the sign-in began in another browser or too long ago')
      const { state: expectedState, nonce: expectedNonce, codeVerifier: pkceCodeVerifier, returnPath } = attempt
      const checks = { expectedState, expectedNonce, pkceCodeVerifier, idTokenExpected: true }
      const url = new URL(`${callbackUrl}?${query}`)
      return { identity: await ask((described) => identify(described, options, url, checks)), returnPath }
    },
    async signOutUrl() {
      try {
        return await ask(async ({ library, provider }) => {
          if (provider.serverMetadata().end_session_endpoint === undefined) return undefined
          return library.buildEndSessionUrl(provider, { post_logout_redirect_uri: options.signedOutUrl }).href
        })
      } catch {
        return undefined // the session of the dashboard has ended anyway
      }
    },
  }
}

/** Returns the address of the provider at which a browser signs in. */
async function signInUrl(
  { library, provider }: Described,
  { operatorGroup, callbackUrl }: ProviderOptions,
  { state, nonce, codeVerifier }: Awaited<ReturnType<typeof beginAttempt>>,
): Promise<string> {
  const known = provider.serverMetadata().scopes_supported ?? []
  const withGroups = operatorGroup !== undefined && known.includes('groups')
  const url = library.buildAuthorizationUrl(provider, {
    redirect_uri: callbackUrl,
    scope: `openid email${withGroups ? ' groups' : ''}`,
    state,
    nonce,
    code_challenge: await library.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  })
  return url.href
}

async function identify(
  { library, provider }: Described,
  { issuer, operatorGroup }: ProviderOptions,
  url: URL,
  checks: object,
): Promise<Identity> {
  const tokens = await library.authorizationCodeGrant(provider, url, checks)
  const claims = tokens.claims()
  if (claims === undefined) throw new SignInRefused('the provider sent no ID token')
  const isIncomplete = lacksClaims(claims, operatorGroup) && provider.serverMetadata().userinfo_endpoint !== undefined
  const more = isIncomplete ? await library.fetchUserInfo(provider, tokens.access_token, claims.sub) : {}
  return readIdentity(joinClaims(claims, more), issuer, operatorGroup)
}

async function discover({ issuer, clientId, clientSecret }: ProviderOptions, { requestSeconds }: typeof defaultLimits) {
  const library = await import('openid-client')
  const server = new URL(issuer)
  const isLocal = server.protocol === 'http:'
  const execute = [library.enableNonRepudiationChecks, ...(isLocal ? [library.allowInsecureRequests] : [])]
  const find = async (authentication: ReturnType<Library['ClientSecretBasic']>) =>
    await library.discovery(server, clientId, undefined, authentication, { execute, timeout: requestSeconds })
  const provider = await find(library.ClientSecretBasic(clientSecret))
  const methods = provider.serverMetadata().token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  if (methods.includes('client_secret_basic')) return { library, provider }
  return { library, provider: await find(library.ClientSecretPost(clientSecret)) }
}

/**
 * Returns a function that calls `read` and keeps the value for {@link descriptionMs}. Simultaneous calls share one
 * `read`.
 */
function cached<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | undefined
  let readAt = 0
  return async () => {
    if (reading === undefined || performance.now() - readAt > descriptionMs) {
      readAt = performance.now()
      reading = read()
    }
    const current = reading
    try {
      return await current
    } catch (error) {
      if (reading === current) reading = undefined
      throw error
    }
  }
}

/** Errors of the library which say that this one sign-in is not valid. Other errors concern the provider as a whole. */
const refusals = [
  'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
]

/** Errors that a provider names when it fails itself (RFC 6749, 4.1.2.1). */
const failures = ['server_error', 'temporarily_unavailable']

/** Keeps only the code and the message of an error: its cause may contain tokens. */
function readable(error: unknown): Error {
  if (error instanceof SignInRefused) return error
  const { code, error: named } = (error ?? {}) as { code?: unknown; error?: unknown }
  const message = [error instanceof Error ? error.message : 'unknown error', code, named].filter(Boolean).join(', ')
  const isRefusal = refusals.includes(String(code)) && !failures.includes(String(named))
  return isRefusal || named === 'invalid_grant' ? new SignInRefused(message) : new ProviderUnavailable(message)
}
