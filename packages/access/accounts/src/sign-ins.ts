import { acquireLock, type Database, sql } from '@sluice/database'

/**
 * Makes transactions that begin or end sessions of one person run one after the other, so that a session which begins
 * meanwhile is found.
 */
export async function lockSessions(tx: Database, email: string): Promise<void> {
  await acquireLock(tx, 'sessionsOfPerson', email)
}

/**
 * Ends the sessions of a person that began with an invitation. Call this function in the transaction that gives the
 * person access to another app, or makes the person an operator: the link of an invitation must not open anything else
 * (docs/decisions.md, Dashboard and processes).
 */
export async function endInvitedSessions(tx: Database, email: string): Promise<void> {
  await lockSessions(tx, email)
  await tx.deleteFrom('sessions').where('email', '=', email).where('by_invitation', '=', true).execute()
}

/**
 * Ends every session of a person, and every link that could begin a session. Accepts the normal form of the address.
 * Call this function in the transaction that removes the person. A person who is added again must then sign in anew.
 *
 * If the address is nobody's any more, also forgets which account at an OpenID Connect provider it belonged to. The
 * address may then be given to another person.
 */
export async function endSignIns(tx: Database, email: string): Promise<void> {
  await lockSessions(tx, email)
  // Links first: a link that is being used becomes a session, which the second statement then finds.
  await tx.deleteFrom('sign_in_links').where('email', '=', email).execute()
  await tx.deleteFrom('sessions').where('email', '=', email).execute()
  await sql`
    delete from provider_accounts where email = ${email}
      and not exists (select from members where email = ${email})
      and not exists (select from operators where email = ${email})
  `.execute(tx)
}
