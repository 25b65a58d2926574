import { type Database, sql } from '@sluice/database'
import { lockApp } from './app.ts'
import { requireEmail } from './email.ts'
import { endInvitedSessions, endSignIns } from './sign-ins.ts'

/** A person who may sign in to an app's dashboard. */
export interface Member {
  /** The address in its normal form. */
  email: string
  /** Whether the member receives the app's mails. */
  getsMails: boolean
  /** When the member was added. */
  since: Date
}

/** The last member of an app cannot be removed, since somebody must be able to sign in. */
export class LastMember extends Error {
  override readonly name = 'LastMember'

  constructor() {
    super('the last member of an app cannot be removed')
  }
}

/** Returns the members of an app, sorted by address. */
export async function listMembers(db: Database, appId: number): Promise<Member[]> {
  const rows = await db
    .selectFrom('members')
    .select(['email', 'gets_mails', 'created_at'])
    .where('app_id', '=', appId)
    .orderBy('email')
    .execute()
  return rows.map((row) => ({ email: row.email, getsMails: row.gets_mails, since: row.created_at }))
}

/**
 * Adds a member whose address an operator vouches for (design.md §3, E-mail addresses). The member receives mails from
 * then on. All other callers must have the address confirmed first (packages/access/sign-in, `inviteMember`).
 *
 * Returns false if the address already belongs to a member, whatever the case of its letters. Throws
 * {@link InvalidAccount}.
 */
export async function addMember(db: Database, appId: number, email: string): Promise<boolean> {
  const address = requireEmail(email)
  return await changeMembers(db, appId, async (tx) => {
    await tx.deleteFrom('invitations').where('app_id', '=', appId).where('email', '=', address).execute()
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('members')
      .values({ app_id: appId, email: address })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    if (numInsertedOrUpdatedRows === 0n) return false
    await endInvitedSessions(tx, address)
    return true
  })
}

/**
 * Removes a member from an app, and ends all sign-ins of this person, even for other apps. Throws {@link LastMember}.
 */
export async function removeMember(db: Database, appId: number, email: string): Promise<boolean> {
  return await changeMembers(db, appId, async (tx) => {
    const members = await listMembers(tx, appId)
    if (members.every((member) => member.email === email)) throw new LastMember()
    const removed = await tx
      .deleteFrom('members')
      .where('app_id', '=', appId)
      .where('email', '=', email)
      .executeTakeFirst()
    await endSignIns(tx, email)
    return removed.numDeletedRows > 0n
  })
}

/**
 * Sends the app's mails to the members in `chosen`, and to no other member in `among`. Other members remain unchanged.
 * Returns the members for whom this differs from before, sorted by address.
 */
export async function sendMailsTo(
  db: Database,
  appId: number,
  { among, chosen }: { among: readonly string[]; chosen: readonly string[] },
): Promise<{ email: string; getsMails: boolean }[]> {
  const isChosen = sql<boolean>`(email = any(${[...chosen]}::text[]))`
  const changed = await db
    .updateTable('members')
    .set({ gets_mails: isChosen })
    .where('app_id', '=', appId)
    .where(sql<boolean>`email = any(${[...among]}::text[])`)
    .where('gets_mails', '!=', isChosen)
    .returning(['email', 'gets_mails'])
    .execute()
  return changed
    .map((row) => ({ email: row.email, getsMails: row.gets_mails }))
    .sort((a, b) => (a.email < b.email ? -1 : 1))
}

/**
 * Runs a change of an app's members or invitations in a transaction. Changes of one app run one after the other. Throws
 * `UnknownApp` if the app does not exist, or is being deleted.
 */
export async function changeMembers<Result>(
  db: Database,
  appId: number,
  change: (tx: Database) => Promise<Result>,
): Promise<Result> {
  return await db.transaction().execute(async (tx) => {
    await lockApp(tx, appId)
    return await change(tx)
  })
}
