import { type Database, sql } from '@sluice/database'
import { hashSecret, makeSecret } from './secret.ts'

/** How long a link is good, minutes. */
export const linkMinutes = 15

/** A link that signs somebody in once. */
export interface SignInLink {
  /** Its last part: whoever has it can sign in. */
  secret: string
  /** Whose it is, as the address was registered: mails go there, and not to what somebody typed. */
  email: string
  expiresAt: Date
}

/**
 * Makes a sign-in link for a member of some app or an operator; undefined where the address belongs to nobody. Letters are
 * the same in both cases.
 */
export async function createLink(db: Database, email: string): Promise<SignInLink | undefined> {
  const secret = makeSecret()
  // Long expired ones go on the way, so that the table stays as small as its use.
  await db.deleteFrom('sign_in_links').where('expires_at', '<', sql<Date>`now() - interval '1 day'`).execute()
  const { rows } = await sql<{ email: string; expires_at: Date }>`
    with person as (
      select email from members where lower(email) = lower(${email})
      union all
      select email from operators where email = lower(${email})
      limit 1
    ),
    link as (
      insert into sign_in_links (secret_hash, email, expires_at)
      select ${hashSecret(secret)}, lower(email), now() + make_interval(mins => ${linkMinutes}) from person
      returning expires_at
    )
    select person.email, link.expires_at from person, link
  `.execute(db)
  const [made] = rows
  return made && { secret, email: made.email, expiresAt: made.expires_at }
}
