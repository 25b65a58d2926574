import { endSignIns, normalEmail, requireEmail } from '@sluice/accounts'
import type { Database } from '@sluice/database'

/** Lets somebody see every app and the queues. Gives whether they are new to it. Throws {@link InvalidAccount}. */
export async function addOperator(db: Database, email: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('operators')
    .values({ email: requireEmail(email) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return Number(numInsertedOrUpdatedRows) > 0
}

/** Removes an operator: every sign-in of theirs ends. Returns whether they were one. */
export async function removeOperator(db: Database, email: string): Promise<boolean> {
  const address = normalEmail(email)
  if (address === undefined) return false
  return await db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx.deleteFrom('operators').where('email', '=', address).executeTakeFirstOrThrow()
    if (numDeletedRows === 0n) return false
    await endSignIns(tx, address)
    return true
  })
}
