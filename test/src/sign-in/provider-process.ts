// A real OpenID Connect provider in a process of its own. The test that starts it decides by messages which accounts
// exist, and who signs in. Nobody has to type a password.
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, SignJWT } from 'jose'
import { type Configuration, interactionPolicy, type KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { ProviderState } from './identity-provider.ts'

let state: ProviderState = { accounts: {} }
const realNow = Date.now
Date.now = () => realNow() + (state.clockAheadMs ?? 0)

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const jwk = { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'key' }

// Nobody is asked for consent: the provider and the dashboard belong to the same company.
const policy = interactionPolicy.base()
policy.remove('consent')
// A person whose account was removed must sign in again.
const { Check } = interactionPolicy
const isRemoved = new Check('account_removed', 'the account was removed', ({ oidc }) => {
  return oidc.session?.accountId !== undefined && oidc.account === undefined
})
policy.get('login')?.checks.add(isRemoved)

const [dashboardUrl = ''] = process.argv.slice(2)
const configuration: Configuration = {
  clients: [
    {
      client_id: 'sluice',
      client_secret: 'secret of the dashboard',
      redirect_uris: [`${dashboardUrl}/sign-in/provider/callback`],
      post_logout_redirect_uris: [`${dashboardUrl}/sign-in`],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  jwks: { keys: [jwk] },
  cookies: { keys: ['cookies of the provider'] },
  scopes: ['openid', 'email', 'groups'],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
  interactions: { policy, url: (_, { uid }) => `/interaction/${uid}` },
  findAccount(_, id) {
    const claims = state.accounts[id]
    return claims && { accountId: id, claims: async () => ({ sub: id, ...claims }) }
  },
  async loadExistingGrant({ oidc }: KoaContextWithOIDC) {
    const { client, session, provider } = oidc
    // Codes of an earlier grant in the same session would not be valid any more.
    const known = client && session?.grantIdFor(client.clientId)
    if (known) return await provider.Grant.find(known)
    const grant = new provider.Grant({
      ...(client && { clientId: client.clientId }),
      ...(session?.accountId && { accountId: session.accountId }),
    })
    grant.addOIDCScope('openid email groups')
    await grant.save()
    return grant
  },
}

const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  const provider = new Provider(issuer, configuration)
  provider.use(async (ctx, next) => {
    if (state.broken === true && ctx.path !== '/.well-known/openid-configuration') ctx.throw(500)
    if (ctx.path.startsWith('/interaction/')) {
      const { person } = state
      const result = person ? { login: { accountId: person } } : { error: 'access_denied' }
      await provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: false })
      ctx.respond = false
      return
    }
    await next()
    const answer = ctx.body as { id_token?: string } | undefined
    if (ctx.path === '/token' && state.falseClaims && answer?.id_token) {
      ctx.body = { ...answer, id_token: await sign({ ...decodeJwt(answer.id_token), ...state.falseClaims }) }
    }
  })
  provider.on('server_error', (_, error) => console.error(error))
  server.on('request', provider.callback())
  process.send?.({ issuer })
})

async function sign(claims: Record<string, unknown>): Promise<string> {
  return await new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: 'key' })
    .sign(createPrivateKey({ key: jwk, format: 'jwk' }))
}

process.on('message', (next: ProviderState) => {
  state = next
  process.send?.({ accepted: true })
})
process.on('disconnect', () => process.exit(0))
