import { requireEmail } from '@sluice/accounts'
import type { Database } from '@sluice/database'

/** Lets somebody see every app and the queues. Gives whether they are new to it. Throws {@link InvalidAccount}. */
export async function addOperator(db: Database, email: string): Promise<boolean> {
  requireEmail(email)
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('operators')
    .values({ email: email.toLowerCase() })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return Number(numInsertedOrUpdatedRows) > 0
}

/** Lets somebody be an operator no more, from their next page on. Gives whether they were one. */
export async function removeOperator(db: Database, email: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('operators')
    .where('email', '=', email.toLowerCase())
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
