import { randomBytes } from 'node:crypto'
import { localPath } from '../local-path.ts'
import type { Signer } from '../signer.ts'

/** How long a person may take to sign in at the provider, ms. */
export const attemptMs = 10 * 60_000

/** The values of one sign-in at a provider. Only the state is sent through the browser in readable form. */
export interface Attempt {
  state: string
  nonce: string
  /** The PKCE code verifier (RFC 7636). */
  codeVerifier: string
  /** The page that the person wanted, as a path of the dashboard. */
  returnPath: string
}

/**
 * Begins a sign-in. `browser` is the text of a signed cookie, so that the state is valid in one browser only.
 *
 * Nonce and code verifier are signatures of the state. Nothing is stored, any process can finish the sign-in, and
 * several tabs can sign in at once.
 */
export async function beginAttempt(
  signer: Signer,
  browser: string,
  target: string,
  now = Date.now(),
): Promise<Attempt> {
  const returnPath = localPath(target)
  const random = randomBytes(16).toString('base64url')
  const text = `${random}.${now}.${Buffer.from(returnPath).toString('base64url')}`
  return await complete(signer, browser, text, returnPath)
}

/**
 * Returns the sign-in to which OpenID Connect's parameter `state` belongs. Returns undefined if the state is forged, or
 * if the sign-in began in another browser or too long ago.
 */
export async function findAttempt(
  signer: Signer,
  browser: string,
  state: string,
  now = Date.now(),
): Promise<Attempt | undefined> {
  const text = state.slice(0, state.lastIndexOf('.'))
  const signature = state.slice(text.length + 1)
  if (!(await signer.verify('oidc state', `${browser}.${text}`, signature))) return undefined
  const [, beganAt = '', path = ''] = text.split('.')
  // The age is negative if the clock of the process that began the sign-in is ahead: a provider at which the person is
  // signed in already may answer faster than the clocks differ.
  if (Math.abs(now - Number(beganAt)) > attemptMs) return undefined
  return await complete(signer, browser, text, Buffer.from(path, 'base64url').toString())
}

async function complete(signer: Signer, browser: string, text: string, returnPath: string): Promise<Attempt> {
  const sign = async (purpose: string) => await signer.sign(`oidc ${purpose}`, `${browser}.${text}`)
  return {
    state: `${text}.${await sign('state')}`,
    nonce: await sign('nonce'),
    codeVerifier: await sign('verifier'),
    returnPath,
  }
}
