import { type Database, sql } from '@sluice/database'
import { requireEmail } from './email.ts'
import { endSignIns } from './sign-ins.ts'

/** Somebody who may sign in to an app's dashboard. */
export interface Member {
  /** In its normal form. */
  email: string
  /** Whether the app's mails go to them. */
  getsMails: boolean
  /** When they were added. */
  since: Date
}

/** An app keeps one member, since somebody has to be able to sign in. */
export class LastMember extends Error {
  override readonly name = 'LastMember'

  constructor() {
    super('the last member of an app cannot be removed')
  }
}

/** Gives the members of an app, by address. */
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
 * Adds a member, who gets mails from then on. Gives false where the address is a member's already, whatever the case of its
 * letters. Throws {@link InvalidAccount}.
 */
export async function addMember(db: Database, appId: number, email: string): Promise<boolean> {
  const address = requireEmail(email)
  return await inTurn(db, appId, async (tx) => {
    const members = await listMembers(tx, appId)
    if (members.some((member) => member.email === address)) return false
    await tx.insertInto('members').values({ app_id: appId, email: address }).execute()
    return true
  })
}

/** Removes a member: no more mails, and every sign-in of theirs ends, also for other apps. Throws {@link LastMember}. */
export async function removeMember(db: Database, appId: number, email: string): Promise<void> {
  await inTurn(db, appId, async (tx) => {
    const members = await listMembers(tx, appId)
    if (members.every((member) => member.email === email)) throw new LastMember()
    await tx.deleteFrom('members').where('app_id', '=', appId).where('email', '=', email).execute()
    await endSignIns(tx, email)
  })
}

/** Of the members in `among`, has the app's mails go to those in `chosen`; somebody who was added meanwhile stays as they are. */
export async function sendMailsTo(
  db: Database,
  appId: number,
  { among, chosen }: { among: readonly string[]; chosen: readonly string[] },
): Promise<void> {
  await db
    .updateTable('members')
    .set({ gets_mails: sql<boolean>`email = any(${[...chosen]}::text[])` })
    .where('app_id', '=', appId)
    .where(sql<boolean>`email = any(${[...among]}::text[])`)
    .execute()
}

/** Changes of one app's members go one after the other. */
async function inTurn<Result>(db: Database, appId: number, change: (tx: Database) => Promise<Result>): Promise<Result> {
  return await db.transaction().execute(async (tx) => {
    await tx.selectFrom('apps').select('app_id').where('app_id', '=', appId).forUpdate().execute()
    return await change(tx)
  })
}
