import { changeMembers, endInvitedSessions, requireEmail } from '@sluice/accounts'
import { acquireLock, type Database, isDue, isFarAhead, sql } from '@sluice/database'
import { hashSecret, makeSecret } from './secret.ts'
import { insertSession } from './session.ts'

/** How long the link of an invitation is valid, days. */
export const invitationDays = 3

const dayMs = 24 * 60 * 60_000

/** Whether an invitation is over: Postgres's clock may have been set back since it was made. */
const isOver = isDue(sql`expires_at`, invitationDays * dayMs)
const isOpen = sql<boolean>`not ${isOver}`

/**
 * Limits of the mails that ask a person to confirm an address. The first two limits keep one app from flooding
 * strangers. The last limit keeps several apps from flooding the same address; one app alone cannot reach it.
 */
const mailLimits = { ofAppPerHour: 20, ofAppToAddressPerDay: 3, toAddressPerDay: 10 }

/** A person who was added to an app and has not confirmed the address. */
export interface Invitation {
  /** The person's e-mail address in its normal form. */
  email: string
  /** The address of the member who added the person. */
  invitedBy: string
  expiresAt: Date
}

/**
 * The outcome of an invitation: the secret of the link, which the caller mails to `email`, or the reason for a refusal.
 */
export type InvitationOutcome =
  | { outcome: 'invited'; secret: string; email: string }
  | { outcome: 'member' | 'too many members' }
  | { outcome: 'too many mails'; waitMs: number }

/**
 * Invites a person to an app (design.md §3, E-mail addresses). The person becomes a member by confirming the address;
 * until then, the address gets no mail but the link. Another invitation of the same address replaces the link.
 *
 * `by` is the address of the inviting member. `memberLimit` counts members and invitations. Throws `InvalidAccount` if
 * the address is not valid.
 */
export async function inviteMember(
  db: Database,
  appId: number,
  { email, by, memberLimit }: { email: string; by: string; memberLimit: number },
): Promise<InvitationOutcome> {
  const address = requireEmail(email)
  return await changeMembers(db, appId, async (tx) => {
    await deleteExpired(tx, appId)
    const room = await roomFor(tx, appId, address, memberLimit)
    if (room !== 'free') return { outcome: room }
    const waitMs = await countMail(tx, appId, address)
    if (waitMs > 0) return { outcome: 'too many mails', waitMs }
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

/** Checks whether an app has room for another member with this address. */
async function roomFor(
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

/**
 * Counts a mail from an app to an address if the limits permit it now. Returns 0 if the mail may be sent; otherwise the
 * time until the limits permit one, ms.
 */
async function countMail(tx: Database, appId: number, email: string): Promise<number> {
  // Serializes apps that invite the same address at the same moment, so that they cannot exceed the address's limit
  // together.
  await acquireLock(tx, 'invitationsOfPerson', email)
  // A limit of n mails permits the next one when the nth newest mail is old enough. `greatest` ignores nulls.
  const { rows } = await sql<{ wait_ms: number }>`
    with mails as (
      select app_id, email, sent_at from invitation_mails
      where (app_id = ${appId} or email = ${email}) and not ${isFarAhead(sql`sent_at`, 0)}
    ), next_mail as (
      select greatest(
        (select sent_at + interval '1 hour' from mails where app_id = ${appId}
          order by sent_at desc offset ${mailLimits.ofAppPerHour - 1} limit 1),
        (select sent_at + interval '1 day' from mails where app_id = ${appId} and email = ${email}
          order by sent_at desc offset ${mailLimits.ofAppToAddressPerDay - 1} limit 1),
        (select sent_at + interval '1 day' from mails where email = ${email}
          order by sent_at desc offset ${mailLimits.toAddressPerDay - 1} limit 1),
        now()
      ) as at
    ), counted as (
      insert into invitation_mails (app_id, email)
      select ${appId}::integer, ${email}::text from next_mail where at <= now()
    )
    select extract(epoch from at - now())::float8 * 1000 as wait_ms from next_mail
  `.execute(tx)
  return rows[0]?.wait_ms ?? 0
}

/** Deletes invitations whose link has expired, and records of mails that no longer count. */
async function deleteExpired(tx: Database, appId: number): Promise<void> {
  await tx.deleteFrom('invitations').where('app_id', '=', appId).where(isOver).execute()
  await tx
    .deleteFrom('invitation_mails')
    .where('app_id', '=', appId)
    .where(isDue(sql`(sent_at + interval '1 day')`, dayMs))
    .execute()
}

/** Returns the invitations of an app that can still be accepted, sorted by address. */
export async function listInvitations(db: Database, appId: number): Promise<Invitation[]> {
  const rows = await db
    .selectFrom('invitations')
    .select(['email', 'invited_by', 'expires_at'])
    .where('app_id', '=', appId)
    .where(isOpen)
    .orderBy('email')
    .execute()
  return rows.map((row) => ({ email: row.email, invitedBy: row.invited_by, expiresAt: row.expires_at }))
}

/**
 * Returns the invitation that a link belongs to; undefined if the link is unknown, used or expired. Does not use up the
 * link.
 */
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
    .where(isOpen)
    .executeTakeFirst()
  return row && { email: row.email, invitedBy: row.invited_by, appName: row.name }
}

/**
 * Confirms an address and uses up the link. From then on the address belongs to a member, who gets the app's mails.
 *
 * With `signsIn`, also starts a session if the address had no access to anything before. Otherwise a link of three
 * days, which people pass on, would open other apps. For the same reason, the session ends when the address gains
 * further access. Returns the secret of the session, if there is one; undefined if the link is unknown, used or
 * expired.
 */
export async function acceptInvitation(
  db: Database,
  appId: number,
  secret: string,
  { signsIn }: { signsIn: boolean },
): Promise<{ session: string | undefined } | undefined> {
  return await changeMembers(db, appId, async (tx) => {
    const accepted = await tx
      .deleteFrom('invitations')
      .where('app_id', '=', appId)
      .where('secret_hash', '=', hashSecret(secret))
      .where(isOpen)
      .returning('email')
      .executeTakeFirst()
    if (accepted === undefined) return undefined
    const { email } = accepted
    await endInvitedSessions(tx, email)
    const hadAccess = await hasAccess(tx, email)
    await tx
      .insertInto('members')
      .values({ app_id: appId, email })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return { session: signsIn && !hadAccess ? await insertSession(tx, email, { byInvitation: true }) : undefined }
  })
}

/** Whether a person has access to anything. */
async function hasAccess(tx: Database, email: string): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from members where email = ${email})
      or exists (select from operators where email = ${email}) as has
  `.execute(tx)
  return rows[0]?.has === true
}

/** Withdraws an invitation, so that its link stops working. Returns false if there is none. */
export async function withdrawInvitation(db: Database, appId: number, email: string): Promise<boolean> {
  const withdrawn = await db
    .deleteFrom('invitations')
    .where('app_id', '=', appId)
    .where('email', '=', email)
    .executeTakeFirst()
  return withdrawn.numDeletedRows > 0n
}
