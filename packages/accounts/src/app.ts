import { type Database, sql } from '@sluice/database'
import { hashToken, makeToken } from './token.ts'

/** There is no app with this ID. */
export class UnknownApp extends Error {
  override readonly name = 'UnknownApp'

  constructor(appId: number) {
    super(`there is no app ${appId}`)
  }
}

/** A name or an e-mail address that cannot be stored as such. */
export class InvalidAccount extends Error {
  override readonly name = 'InvalidAccount'
}

/**
 * Creates an app with its first member, who gets its mails, and its API token.
 *
 * Gives the app's ID and the token, which is shown here only. Throws {@link InvalidAccount}.
 */
export async function createApp(
  db: Database,
  { name, email }: { name: string; email: string },
): Promise<{ appId: number; apiToken: string }> {
  if (name.trim() === '' || name.length > 255 || name.includes('\0')) {
    throw new InvalidAccount('the name must have 1 to 255 characters')
  }
  if (!isEmail(email)) throw new InvalidAccount(`${JSON.stringify(email)} is not an e-mail address`)
  return await db.transaction().execute(async (tx) => {
    const { app_id: appId } = await tx.insertInto('apps').values({ name }).returning('app_id').executeTakeFirstOrThrow()
    await tx.insertInto('members').values({ app_id: appId, email }).execute()
    return { appId, apiToken: await registerToken(tx, appId) }
  })
}

/**
 * Issues an API token; the one before stops working when the transaction commits, in every process, since tokens are
 * looked up per request (service.md, Authentication). Throws {@link UnknownApp}.
 */
export async function registerToken(db: Database, appId: number): Promise<string> {
  await requireApp(db, appId)
  const token = makeToken(appId)
  const row = { token_hash: hashToken(token), last_four: token.slice(-4) }
  await db
    .insertInto('api_tokens')
    .values({ app_id: appId, ...row })
    .onConflict((conflict) => conflict.column('app_id').doUpdateSet({ ...row, created_at: sql<Date>`now()` }))
    .execute()
  return token
}

/** Throws {@link UnknownApp} where there is no such app. */
export async function requireApp(db: Database, appId: number): Promise<void> {
  const app = await db.selectFrom('apps').select('app_id').where('app_id', '=', appId).executeTakeFirst()
  if (app === undefined) throw new UnknownApp(appId)
}

/** One address, without a display name, line breaks or anything else that could alter a mail's header. */
function isEmail(text: string): boolean {
  return text.length <= 254 && /^[^\s@<>(),;:"[\]\\]+@[^\s@<>(),;:"[\]\\]+$/.test(text)
}
