import type { Database } from '@sluice/database'

/**
 * Ends every session of a person and every link that could begin one: whoever was removed signs in anew if added again.
 * Accepts the normal form of the address. Runs in the transaction that removes the person.
 */
export async function endSignIns(tx: Database, email: string): Promise<void> {
  // Links first: one that is being used becomes a session, which the second statement finds.
  await tx.deleteFrom('sign_in_links').where('email', '=', email).execute()
  await tx.deleteFrom('sessions').where('email', '=', email).execute()
}
