import { lockSessions } from '@sluice/accounts'
import { type Database, sql } from '@sluice/database'
import { hashSecret } from '../secret.ts'
import { confirmationMinutes, insertSession, isSessionOver } from '../session.ts'
import type { Identity } from './identity.ts'

/** A person with a verified address. */
type VerifiedIdentity = Identity & { email: string }

/**
 * The outcome of a sign-in at a provider: a new session, another confirmation of the current session, or the reason for
 * a refusal. `another account`: the address belongs to another account at the provider. `another address`: the account
 * belongs to another address.
 */
export type ProviderSignIn =
  | { outcome: 'signed in'; secret: string }
  | { outcome: 'confirmed' }
  | { outcome: 'not verified' | 'no access' | 'another account' | 'another address' }

/**
 * Signs in a person whom the provider has identified (second-day.md §6, Verified addresses). The first sign-in binds
 * the address to the account at the provider. `current` is the secret of the browser's session, which is confirmed if
 * it belongs to the same account.
 *
 * A refusal ends the sessions of the account.
 */
export async function signInAtProvider(db: Database, identity: Identity, current?: string): Promise<ProviderSignIn> {
  const { email } = identity
  return await db.transaction().execute(async (tx) => {
    const refusal = email === undefined ? 'not verified' : await refuse(tx, { ...identity, email })
    if (refusal !== undefined || email === undefined) {
      await endSessions(tx, identity)
      return { outcome: refusal ?? 'not verified' }
    }
    if (current !== undefined && (await confirm(tx, identity, current))) return { outcome: 'confirmed' }
    return { outcome: 'signed in', secret: await begin(tx, { ...identity, email }) }
  })
}

/** Binds the address to the account if both are free. Returns why the person may not sign in, or undefined. */
async function refuse(tx: Database, identity: VerifiedIdentity) {
  const { issuer, subject, email, isInOperatorGroup } = identity
  await lockSessions(tx, email)
  const { rows } = await sql<{ may: boolean }>`
    select ${isInOperatorGroup}::boolean or exists (select from members where email = ${email})
      or exists (select from operators where email = ${email}) as may
  `.execute(tx)
  if (rows[0]?.may !== true) return 'no access'
  await tx
    .insertInto('provider_accounts')
    .values({ issuer, email, subject })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  // A statement of its own, so that it sees the row of a simultaneous sign-in.
  const bound = await tx
    .selectFrom('provider_accounts')
    .select(['email', 'subject'])
    .where('issuer', '=', issuer)
    .where((where) => where.or([where('email', '=', email), where('subject', '=', subject)]))
    .execute()
  if (bound.some((row) => row.subject === subject && row.email !== email)) return 'another address'
  return bound.some((row) => row.subject !== subject) ? 'another account' : undefined
}

async function confirm(tx: Database, identity: Identity, secret: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update sessions set confirmed_until = now() + make_interval(mins => ${confirmationMinutes}),
      operator_by_group = ${identity.isInOperatorGroup}
    where secret_hash = ${hashSecret(secret)} and not ${isSessionOver}
      and issuer = ${identity.issuer} and subject = ${identity.subject} and email = ${identity.email}
  `.execute(tx)
  return Number(numAffectedRows ?? 0) > 0
}

async function begin(tx: Database, { issuer, subject, email, isInOperatorGroup }: VerifiedIdentity): Promise<string> {
  const secret = await insertSession(tx, email)
  await sql`
    update sessions set issuer = ${issuer}, subject = ${subject}, operator_by_group = ${isInOperatorGroup},
      confirmed_until = now() + make_interval(mins => ${confirmationMinutes})
    where secret_hash = ${hashSecret(secret)}
  `.execute(tx)
  return secret
}

async function endSessions(tx: Database, { issuer, subject }: Identity): Promise<void> {
  await tx.deleteFrom('sessions').where('issuer', '=', issuer).where('subject', '=', subject).execute()
}

/** Whether a session began at a provider, which can confirm it again. */
export async function isOfProvider(db: Database, secret: string): Promise<boolean> {
  const session = await db
    .selectFrom('sessions')
    .select('issuer')
    .where('secret_hash', '=', hashSecret(secret))
    .where(sql<boolean>`not ${isSessionOver}`)
    .where('issuer', 'is not', null)
    .executeTakeFirst()
  return session !== undefined
}
