import type { Database } from '@sluice/database'

/**
 * Ends every session of a person, and every link that could begin a session. Accepts the normal form of the address.
 * Call it in the transaction that removes the person, who must then sign in anew if added again.
 */
export async function endSignIns(tx: Database, email: string): Promise<void> {
  // Links first: a link that is being used becomes a session, which the second statement then finds.
  await tx.deleteFrom('sign_in_links').where('email', '=', email).execute()
  await tx.deleteFrom('sessions').where('email', '=', email).execute()
}
