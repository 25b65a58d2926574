import { type Database, sql } from '@sluice/database'
import { hashSecret, makeSecret } from './secret.ts'

/** How long a link is good, minutes. */
export const linkMinutes = 15

/** A link that signs somebody in once. */
export interface SignInLink {
  /** Its last part: whoever has it can sign in. */
  secret: string
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
  const { rows } = await sql<{ expires_at: Date }>`
    insert into sign_in_links (secret_hash, email, expires_at)
    select ${hashSecret(secret)}, person.email, now() + make_interval(mins => ${linkMinutes})
    from (values (lower(${email}))) as person (email)
    where exists (select from members where lower(members.email) = person.email)
      or exists (select from operators where operators.email = person.email)
    returning expires_at
  `.execute(db)
  return rows[0] && { secret, expiresAt: rows[0].expires_at }
}
