import { normalEmail } from '@sluice/accounts'

/** A person as the provider describes them. */
export interface Identity {
  issuer: string
  /** Identifies the account at the issuer, and never changes. */
  subject: string
  /** The address in its normal form, or undefined if the provider has not verified an address. */
  email: string | undefined
  isInOperatorGroup: boolean
}

/** Claims of an ID token or of the userinfo endpoint (OpenID Connect Core, 5.1). */
export type Claims = Readonly<Record<string, unknown>>

/**
 * The provider did not sign the person in, or its answer is not valid (second-day.md §6, OpenID Connect). The message
 * holds no secret.
 */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused'
}

/** Whether needed claims are missing. The provider's userinfo endpoint may have them. */
export function lacksClaims(claims: Claims, operatorGroup: string | undefined): boolean {
  const needed = ['email', 'email_verified', ...(operatorGroup === undefined ? [] : ['groups'])]
  return needed.some((name) => claims[name] === undefined)
}

/**
 * Joins the claims of the ID token, which take precedence, and of the userinfo endpoint. The address and its
 * verification come from the same source: otherwise the verification of one address would count for another.
 */
export function joinClaims(idToken: Claims, userInfo: Claims): Claims {
  const isComplete = idToken.email !== undefined && idToken.email_verified !== undefined
  const { email, email_verified } = isComplete ? idToken : userInfo
  return { ...userInfo, ...idToken, email, email_verified }
}

/** The form of a subject (OpenID Connect Core, 2). Postgres cannot store every other text. */
const subjectForm = /^[ -~]{1,255}$/

/**
 * Reads the identity from the claims (second-day.md §6, Operator group). Some providers write `email_verified` as text.
 * Throws {@link SignInRefused}.
 */
export function readIdentity(claims: Claims, issuer: string, operatorGroup: string | undefined): Identity {
  const { sub, email, email_verified: verified, groups } = claims
  if (typeof sub !== 'string' || !subjectForm.test(sub)) throw new SignInRefused('the provider named no valid subject')
  const isVerified = typeof email === 'string' && (verified === true || verified === 'true')
  return {
    issuer,
    subject: sub,
    email: isVerified ? normalEmail(email) : undefined,
    isInOperatorGroup: operatorGroup !== undefined && Array.isArray(groups) && groups.includes(operatorGroup),
  }
}
