import { endInvitedSessions, endSignIns, normalEmail, requireEmail } from '@sluice/accounts'
import type { Database } from '@sluice/database'

/**
 * Makes the owner of an address an operator, who may see every app and the queues. Returns false if the owner is an
 * operator already. Throws `InvalidAccount` if the address is not valid.
 */
export async function addOperator(db: Database, email: string): Promise<boolean> {
  const address = requireEmail(email)
  return await db.transaction().execute(async (tx) => {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('operators')
      .values({ email: address })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    if (numInsertedOrUpdatedRows === 0n) return false
    await endInvitedSessions(tx, address)
    return true
  })
}

/** Returns the operators by address, without those whom a provider names. */
export async function listOperators(db: Database): Promise<{ email: string; createdAt: Date }[]> {
  return await db.selectFrom('operators').select(['email', 'created_at as createdAt']).orderBy('email').execute()
}

/** Whether the address is that of the only operator, without those whom a provider names. */
export async function isLastOperator(db: Database, email: string): Promise<boolean> {
  const operators = await listOperators(db)
  return operators.length === 1 && operators[0]?.email === normalEmail(email)
}

/** Removes an operator and ends their sessions. Returns false if the address is not an operator's. */
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
