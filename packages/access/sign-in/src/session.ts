import { type Database, isDue, prepared, sql } from '@sluice/database'
import { isLinkValid } from './link.ts'
import { hashSecret, makeSecret } from './secret.ts'

/** How long a session lasts, days. */
export const sessionDays = 7

/** How long a session is valid after an OpenID Connect provider confirmed the person, minutes. */
export const confirmationMinutes = 15

/** Whether a session is over: Postgres's clock may have been set back since it began. */
export const isSessionOver = isDue(sql`expires_at`, sessionDays * 24 * 60 * 60_000)
const isUnconfirmed = isDue(sql`confirmed_until`, confirmationMinutes * 60_000)

/** Starts a session of a person, and deletes expired sessions of everybody. Returns the secret of the session. */
export async function insertSession(tx: Database, email: string, { byInvitation = false } = {}): Promise<string> {
  const secret = makeSecret()
  await tx.deleteFrom('sessions').where(isSessionOver).execute()
  await sql`
    insert into sessions (secret_hash, email, by_invitation, expires_at)
    values (${hashSecret(secret)}, ${email}, ${byInvitation}, now() + make_interval(days => ${sessionDays}))
  `.execute(tx)
  return secret
}

/** A person who is signed in. */
export interface Visitor {
  /** The person's e-mail address in its normal form. */
  email: string
  /** Operators see every app and the queues. */
  isOperator: boolean
  /** The apps that the visitor is a member of, sorted by name. */
  apps: { appId: number; name: string }[]
  /** Whether the session ends within minutes unless the OpenID Connect provider confirms it again. */
  mustConfirmSoon: boolean
}

/** A session ends soon if the provider's last confirmation is valid for fewer minutes than this. */
const soonMinutes = 5

/**
 * Starts a session and uses up the link. Of several simultaneous calls with one link, only one succeeds.
 *
 * Returns the secret of the new session, and the path of the page that the person asked for; undefined if the link is
 * unknown, used or expired.
 */
export async function redeemLink(
  db: Database,
  linkSecret: string,
): Promise<{ secret: string; returnPath: string } | undefined> {
  return await db.transaction().execute(async (tx) => {
    const link = await tx
      .updateTable('sign_in_links')
      .set({ used_at: sql<Date>`now()` })
      .where('secret_hash', '=', hashSecret(linkSecret))
      .where('used_at', 'is', null)
      .where(isLinkValid)
      .returning(['email', 'return_path'])
      .executeTakeFirst()
    return link && { secret: await insertSession(tx, link.email), returnPath: link.return_path }
  })
}

/**
 * Returns the owner of a session with their current apps (design.md §4, Isolation): a member who is removed from an app
 * loses access with the next request. Returns undefined if the session is unknown, expired or no longer confirmed, or
 * its owner is no longer a member or an operator.
 */
export async function findVisitor(db: Database, secret: string): Promise<Visitor | undefined> {
  const { rows } = await prepared<{
    email: string
    is_operator: boolean
    must_confirm_soon: boolean
    apps: Visitor['apps']
  }>`
    select sessions.email,
      operator_by_group or exists (select from operators where operators.email = sessions.email) as is_operator,
      coalesce(confirmed_until < now() + make_interval(mins => ${soonMinutes}), false) as must_confirm_soon,
      coalesce((
        select json_agg(json_build_object('appId', apps.app_id, 'name', apps.name) order by apps.name, apps.app_id)
        from apps where app_id in (select app_id from members where members.email = sessions.email)
      ), '[]') as apps
    from sessions where secret_hash = ${hashSecret(secret)} and not ${isSessionOver}
      and (confirmed_until is null or not ${isUnconfirmed})
  `.execute(db)
  const [found] = rows
  if (found === undefined || (!found.is_operator && found.apps.length === 0)) return undefined
  const { email, is_operator: isOperator, apps, must_confirm_soon: mustConfirmSoon } = found
  return { email, isOperator, apps, mustConfirmSoon }
}

/** Ends a session in every process. Returns whether the session began at an OpenID Connect provider. */
export async function endSession(db: Database, secret: string): Promise<boolean> {
  const ended = await db
    .deleteFrom('sessions')
    .where('secret_hash', '=', hashSecret(secret))
    .returning('issuer')
    .executeTakeFirst()
  return typeof ended?.issuer === 'string'
}
