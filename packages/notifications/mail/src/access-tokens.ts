import type { MailLogin } from '@sluice/config'

/** An access token, and when it expires: ms since the epoch, 0 if the token endpoint does not say. */
interface AccessToken {
  value: string
  expiresAt: number
}

/** Access tokens for the mail server. */
interface AccessTokens {
  /** Returns a token that is still valid. `renew` is true if the mail server has refused the preceding token. */
  token(renew: boolean): Promise<AccessToken>
}

/** The longest wait for the token endpoint, ms. A mail has 90 s in all. */
const answerMs = 10_000

/** A token is not used for the last seconds of its life, ms: the login takes some time, and clocks differ. */
const marginMs = 10_000

/** Maximum number of characters of the token endpoint's answer that an error message quotes. */
const longestReason = 300

/**
 * Opens the access tokens of a process (RFC 6749, Sections 4.4 and 6). All connections to the mail server share a
 * token until it expires or is refused, and requests of the same moment share one answer. Errors name the reason that
 * the token endpoint gave, and never a secret.
 */
export function openAccessTokens(login: MailLogin): AccessTokens {
  let last: AccessToken | undefined
  let requested: Promise<AccessToken> | undefined

  async function request(): Promise<AccessToken> {
    try {
      last = undefined
      last = await requestToken(login)
      return last
    } finally {
      requested = undefined
    }
  }

  return {
    async token(renew) {
      const isValid = last !== undefined && (last.expiresAt === 0 || last.expiresAt > Date.now())
      if (last !== undefined && isValid && !renew) return last
      requested ??= request()
      return await requested
    },
  }
}

async function requestToken(login: MailLogin): Promise<AccessToken> {
  const requestedAt = Date.now()
  const { status, text } = await post(login)
  const answer = parsed(text)
  if (typeof answer.access_token !== 'string' || answer.access_token === '') {
    const words = [answer.error, answer.error_description].filter((each) => typeof each === 'string').join(': ')
    const reason = words === '' ? 'no access token' : withoutSecrets(words, login).slice(0, longestReason)
    throw new Error(`the token endpoint answered ${status}: ${reason}`)
  }
  const seconds = Number(answer.expires_in)
  return { value: answer.access_token, expiresAt: seconds > 0 ? requestedAt + seconds * 1000 - marginMs : 0 }
}

/** Sends the request for a token. Throws if the token endpoint does not answer in time. */
async function post(login: MailLogin): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(login.tokenUrl, {
      method: 'POST',
      headers: { Accept: 'application/json' },
      body: formOf(login),
      redirect: 'error', // the request has secrets
      signal: AbortSignal.timeout(answerMs),
    })
    return { status: response.status, text: await response.text() }
  } catch (error) {
    const { cause } = error as Error
    const reason = cause instanceof Error ? cause.message : (error as Error).message
    throw new Error(`the token endpoint cannot be reached: ${reason}`)
  }
}

function formOf({ clientId, clientSecret, refreshToken, scope }: MailLogin): URLSearchParams {
  return new URLSearchParams({
    ...(refreshToken === undefined
      ? { grant_type: 'client_credentials' }
      : { grant_type: 'refresh_token', refresh_token: refreshToken }),
    client_id: clientId,
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
    ...(scope !== undefined && { scope }),
  })
}

/** Returns the members of a JSON object, or none if `text` is something else. */
function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

function withoutSecrets(text: string, { clientSecret, refreshToken }: MailLogin): string {
  const secrets = [clientSecret, refreshToken].filter((secret) => secret !== undefined)
  return secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text)
}
