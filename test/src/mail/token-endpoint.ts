import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'
import { listenOn } from '../environment/free-port.ts'

/** A token endpoint with one client, `sluice`, and one account, the sender of mails. */
export interface TokenEndpoint {
  url: string
  requests(): number
  /** Whether an access token is valid, as a mail server asks. */
  isValid(accessToken: string): Promise<boolean>
  /** Lets the account grant access to the client. Returns the refresh token. */
  grantAccess(): Promise<string>
  /** Ends the validity of all access tokens. */
  endAccessTokens(): Promise<void>
  /** Refuses a refresh token from now on. */
  revoke(refreshToken: string): Promise<void>
  close(): Promise<void>
}

/** The client's secret. */
export const clientSecret = 'secret of the mail client'

const scope = 'openid offline_access'
const accountId = 'sender'

/** Starts an OAuth 2.0 provider whose access tokens are valid for `lifetimeSeconds`. */
export async function startTokenEndpoint(lifetimeSeconds: number): Promise<TokenEndpoint> {
  let requests = 0
  const issued: string[] = []
  const server = createServer()
  const issuer = `http://127.0.0.1:${await listenOn(server)}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'sluice',
        client_secret: clientSecret,
        token_endpoint_auth_method: 'client_secret_post',
        redirect_uris: ['https://sluice.test/'],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      },
    ],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    ttl: { AccessToken: lifetimeSeconds, ClientCredentials: lifetimeSeconds },
    rotateRefreshToken: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  })
  provider.use(async (ctx, next) => {
    await next()
    if (ctx.path !== '/token') return
    requests++
    const { access_token: token } = Object(ctx.body)
    if (typeof token === 'string') issued.push(token)
  })
  server.on('request', provider.callback())

  const find = async (token: string) =>
    (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token))
  return {
    url: `${issuer}/token`,
    requests: () => requests,
    isValid: async (token) => (await find(token))?.isExpired === false,
    async grantAccess() {
      const client = await provider.Client.find('sluice')
      if (client === undefined) throw new Error('the client is not known')
      const grant = new provider.Grant({ clientId: client.clientId, accountId })
      grant.addOIDCScope(scope)
      const grantId = await grant.save()
      return await new provider.RefreshToken({ client, accountId, grantId, scope, gty: 'authorization_code' }).save()
    },
    async endAccessTokens() {
      for (const token of issued) await (await find(token))?.destroy()
    },
    async revoke(refreshToken) {
      await (await provider.RefreshToken.find(refreshToken))?.destroy()
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
