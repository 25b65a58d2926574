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
