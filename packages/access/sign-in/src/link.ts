import { normalEmail } from '@sluice/accounts'
import { type Database, isDue, sql } from '@sluice/database'
import { localPath } from './local-path.ts'
import { hashSecret, makeSecret } from './secret.ts'

/** How long a link is valid, minutes. */
export const linkMinutes = 15

/** Whether a link is valid: Postgres's clock may have been set back since it was made. */
export const isLinkValid = sql<boolean>`not ${isDue(sql`expires_at`, linkMinutes * 60_000)}`

/** A link that signs a person in once. */
export interface SignInLink {
  /** The last part of the link. Anyone who has it can sign in. */
  secret: string
  /** The owner's address in its normal form. The mail must go to this address, not to the text that was typed. */
  email: string
  expiresAt: Date
}

/**
 * Creates a sign-in link for a member of any app or for an operator. Returns undefined if the address belongs to
 * neither. `target` is the page that the link leads to. It is stored rather than a part of the link: anyone may request
 * a link for an address, and the mail must contain no text of theirs. An address outside the dashboard counts as `/`.
 */
export async function createLink(db: Database, email: string, target = '/'): Promise<SignInLink | undefined> {
  const secret = makeSecret()
  const address = normalEmail(email)
  if (address === undefined) return undefined
  // Deleting expired links here keeps the table small without a job of its own.
  await db.deleteFrom('sign_in_links').where('expires_at', '<', sql<Date>`now() - interval '1 day'`).execute()
  const { rows } = await sql<{ expires_at: Date }>`
    insert into sign_in_links (secret_hash, email, return_path, expires_at)
    select ${hashSecret(secret)}, ${address}, ${localPath(target)}, now() + make_interval(mins => ${linkMinutes})
    where exists (select from members where email = ${address}) or exists (select from operators where email = ${address})
    returning expires_at
  `.execute(db)
  const [row] = rows
  return row && { secret, email: address, expiresAt: row.expires_at }
}

/**
 * Returns the address that a link signs in; undefined if the link is unknown, used or expired. Does not use up the
 * link.
 */
export async function findLink(db: Database, secret: string): Promise<string | undefined> {
  const link = await db
    .selectFrom('sign_in_links')
    .select('email')
    .where('secret_hash', '=', hashSecret(secret))
    .where('used_at', 'is', null)
    .where(isLinkValid)
    .executeTakeFirst()
  return link?.email
}
