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

/** Whether needed claims are missing. The provider's userinfo endpoint may have them. */
export function lacksClaims(claims: Claims, operatorGroup: string | undefined): boolean {
  const needed = ['email', 'email_verified', ...(operatorGroup === undefined ? [] : ['groups'])]
  return needed.some((name) => claims[name] === undefined)
}

/** Reads the identity from the claims. Some providers write `email_verified` as text. */
export function readIdentity(claims: Claims, issuer: string, operatorGroup: string | undefined): Identity {
  const { sub, email, email_verified: verified, groups } = claims
  if (typeof sub !== 'string' || sub === '') throw new TypeError('the provider named no subject')
  const isVerified = typeof email === 'string' && (verified === true || verified === 'true')
  return {
    issuer,
    subject: sub,
    email: isVerified ? normalEmail(email) : undefined,
    isInOperatorGroup: operatorGroup !== undefined && Array.isArray(groups) && groups.includes(operatorGroup),
  }
}
