import { type Database, sql } from '@sluice/database'
import { hashSecret, makeSecret } from './secret.ts'

/** How long a session lasts, days. */
export const sessionDays = 7

/** Somebody who is signed in. */
export interface Visitor {
  /** In its normal form. */
  email: string
  /** Operators see every app and the queues. */
  isOperator: boolean
  /** The apps that they are members of, by name. */
  apps: { appId: number; name: string }[]
}

/**
 * Signs in by a link, which is used up by it: of several calls at once, one succeeds.
 *
 * Takes the link's secret. Gives the secret of the new session, or undefined where the link is unknown, used or too old.
 */
export async function redeemLink(db: Database, linkSecret: string): Promise<string | undefined> {
  const secret = makeSecret()
  await db.deleteFrom('sessions').where('expires_at', '<', sql<Date>`now()`).execute()
  const { numAffectedRows } = await sql`
    with link as (
      update sign_in_links set used_at = now()
      where secret_hash = ${hashSecret(linkSecret)} and used_at is null and expires_at > now()
      returning email
    )
    insert into sessions (secret_hash, email, expires_at)
    select ${hashSecret(secret)}, email, now() + make_interval(days => ${sessionDays}) from link
  `.execute(db)
  return Number(numAffectedRows ?? 0) > 0 ? secret : undefined
}

/**
 * Finds who a session belongs to, as they stand at this moment: somebody who was removed from an app loses it with the next
 * look. Undefined where the session is unknown or over, or its owner is neither member nor operator any more.
 */
export async function findVisitor(db: Database, secret: string): Promise<Visitor | undefined> {
  const { rows } = await sql<{ email: string; is_operator: boolean; apps: Visitor['apps'] }>`
    /* prepared */
    select sessions.email,
      exists (select from operators where operators.email = sessions.email) as is_operator,
      coalesce((
        select json_agg(json_build_object('appId', apps.app_id, 'name', apps.name) order by apps.name, apps.app_id)
        from apps where app_id in (select app_id from members where members.email = sessions.email)
      ), '[]') as apps
    from sessions where secret_hash = ${hashSecret(secret)} and expires_at > now()
  `.execute(db)
  const [found] = rows
  if (found === undefined || (!found.is_operator && found.apps.length === 0)) return undefined
  return { email: found.email, isOperator: found.is_operator, apps: found.apps }
}

/** Signs out: the session is over in every process. */
export async function endSession(db: Database, secret: string): Promise<void> {
  await db.deleteFrom('sessions').where('secret_hash', '=', hashSecret(secret)).execute()
}
