import { changeMembers, requireEmail } from '@sluice/accounts'
import { type Database, sql } from '@sluice/database'
import { hashSecret, makeSecret } from './secret.ts'

/** How long the link of an invitation is good, days. */
export const invitationDays = 3

/**
 * Most mails that ask to confirm an address. The first two keep an app from mailing strangers; the last one keeps several apps from
 * it, and no single app reaches it.
 */
const most = { ofAppInAnHour: 20, ofAppToAddressInADay: 3, toAddressInADay: 10 }

/** Somebody who was added to an app, and has not confirmed their address. */
export interface Invitation {
  /** In its normal form. */
  email: string
  /** The address of whoever added them. */
  invitedBy: string
  expiresAt: Date
}

/** What becomes of an invitation: its link's secret, which is to be mailed to the address, or why there is none. */
export type InvitationOutcome =
  | { outcome: 'invited'; secret: string; email: string }
  | { outcome: 'member' | 'too many members' | 'too many mails' }

/**
 * Adds somebody to an app, who becomes a member by confirming the address: until then nothing but the link goes there. Another
 * invitation of the same address replaces the link.
 *
 * `by` is the address of whoever adds them, and `memberLimit` counts members and invitations. Throws {@link InvalidAccount}.
 */
export async function inviteMember(
  db: Database,
  appId: number,
  { email, by, memberLimit }: { email: string; by: string; memberLimit: number },
): Promise<InvitationOutcome> {
  const address = requireEmail(email)
  return await changeMembers(db, appId, async (tx) => {
    await forgetOld(tx, appId)
    const place = await placeIn(tx, appId, address, memberLimit)
    if (place !== 'free') return { outcome: place }
    if (!(await countMail(tx, appId, address))) return { outcome: 'too many mails' }
    const secret = makeSecret()
    await sql`
      insert into invitations (app_id, email, secret_hash, invited_by, expires_at)
      values (${appId}, ${address}, ${hashSecret(secret)}, ${by}, now() + make_interval(days => ${invitationDays}))
      on conflict (app_id, email) do update set
        secret_hash = excluded.secret_hash, invited_by = excluded.invited_by, expires_at = excluded.expires_at
    `.execute(tx)
    return { outcome: 'invited', secret, email: address }
  })
}

/** Whether an app has room for somebody who is none of its members. */
async function placeIn(
  tx: Database,
  appId: number,
  email: string,
  limit: number,
): Promise<'free' | 'member' | 'too many members'> {
  const { rows } = await sql<{ is_member: boolean; others: number }>`
    select exists (select from members where app_id = ${appId} and email = ${email}) as is_member,
      (select count(*) from members where app_id = ${appId})
        + (select count(*) from invitations where app_id = ${appId} and email <> ${email}) as others
  `.execute(tx)
  const [found] = rows
  if (found?.is_member) return 'member'
  return (found?.others ?? 0) < limit ? 'free' : 'too many members'
}

/** Counts a mail of an app to an address, if it may be sent. */
async function countMail(tx: Database, appId: number, email: string): Promise<boolean> {
  // Apps that invite one address at the same moment count one after the other.
  await sql`select pg_advisory_xact_lock(hashtext('invitation'), hashtext(${email}))`.execute(tx)
  const { numAffectedRows } = await sql`
    insert into invitation_mails (app_id, email)
    select ${appId}::integer, ${email}::text
    where (
      select count(*) filter (where sent_at > now() - interval '1 hour') < ${most.ofAppInAnHour}
        and count(*) filter (where email = ${email}) < ${most.ofAppToAddressInADay}
      from invitation_mails where app_id = ${appId} and sent_at > now() - interval '1 day'
    ) and (
      select count(*) < ${most.toAddressInADay} from invitation_mails
      where email = ${email} and sent_at > now() - interval '1 day'
    )
  `.execute(tx)
  return Number(numAffectedRows ?? 0) > 0
}

/** Forgets invitations whose link is no longer good, and mails that no longer count. */
async function forgetOld(tx: Database, appId: number): Promise<void> {
  await tx.deleteFrom('invitations').where('app_id', '=', appId).where('expires_at', '<', sql<Date>`now()`).execute()
  await tx
    .deleteFrom('invitation_mails')
    .where('app_id', '=', appId)
    .where('sent_at', '<', sql<Date>`now() - interval '1 day'`)
    .execute()
}

/** Returns the invitations of an app that can be accepted, by address. */
export async function listInvitations(db: Database, appId: number): Promise<Invitation[]> {
  const rows = await db
    .selectFrom('invitations')
    .select(['email', 'invited_by', 'expires_at'])
    .where('app_id', '=', appId)
    .where('expires_at', '>', sql<Date>`now()`)
    .orderBy('email')
    .execute()
  return rows.map((row) => ({ email: row.email, invitedBy: row.invited_by, expiresAt: row.expires_at }))
}

/** Returns whom the link of an invitation is for, and the app's name; undefined if the link is unknown, used or too old. */
export async function findInvitation(
  db: Database,
  appId: number,
  secret: string,
): Promise<{ email: string; invitedBy: string; appName: string } | undefined> {
  const row = await db
    .selectFrom('invitations')
    .innerJoin('apps', 'apps.app_id', 'invitations.app_id')
    .select(['email', 'invited_by', 'name'])
    .where('invitations.app_id', '=', appId)
    .where('secret_hash', '=', hashSecret(secret))
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row && { email: row.email, invitedBy: row.invited_by, appName: row.name }
}

/**
 * Confirms an address by its link, which is used up: it is a member's from then on, and gets the app's mails. Returns whether the
 * link was good.
 */
export async function acceptInvitation(db: Database, appId: number, secret: string): Promise<boolean> {
  return await changeMembers(db, appId, async (tx) => {
    const accepted = await tx
      .deleteFrom('invitations')
      .where('app_id', '=', appId)
      .where('secret_hash', '=', hashSecret(secret))
      .where('expires_at', '>', sql<Date>`now()`)
      .returning('email')
      .executeTakeFirst()
    if (accepted === undefined) return false
    const member = { app_id: appId, email: accepted.email }
    await tx
      .insertInto('members')
      .values(member)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return true
  })
}

/** Withdraws an invitation: its link works no longer. */
export async function withdrawInvitation(db: Database, appId: number, email: string): Promise<void> {
  await db.deleteFrom('invitations').where('app_id', '=', appId).where('email', '=', email).execute()
}
