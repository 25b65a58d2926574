import type { NewKeys } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { InvalidAccount, requireEmail } from './email.ts'
import { endInvitedSessions } from './sign-ins.ts'
import { hashToken, makeToken } from './token.ts'

/** There is no app with this ID. */
export class UnknownApp extends Error {
  override readonly name = 'UnknownApp'

  constructor(appId: number) {
    super(`there is no app ${appId}`)
  }
}

/**
 * Creates an app with its API token and its first member, who receives the app's mails.
 *
 * Returns the app's ID and the token, which cannot be read again later. Throws {@link InvalidAccount} if the name or
 * the address is not valid.
 */
export async function createApp(
  db: Database,
  { name, email }: { name: string; email: string },
): Promise<{ appId: number; apiToken: string }> {
  checkName(name)
  const address = requireEmail(email)
  return await db.transaction().execute(async (tx) => {
    const { app_id: appId } = await tx.insertInto('apps').values({ name }).returning('app_id').executeTakeFirstOrThrow()
    await tx.insertInto('members').values({ app_id: appId, email: address }).execute()
    await endInvitedSessions(tx, address)
    return { appId, apiToken: await registerToken(tx, appId) }
  })
}

/** Throws {@link InvalidAccount} if a text cannot be the name of an app. */
function checkName(name: string): void {
  if (name.trim() === '' || name.length > 255 || name.includes('\0')) {
    throw new InvalidAccount('the name must have 1 to 255 characters')
  }
}

/** Sets columns of an app. Returns whether a value differs from before. Throws {@link UnknownApp}. */
export async function changeApp(
  db: Database,
  appId: number,
  values: {
    name?: string
    new_keys?: NewKeys
    keep_changes?: boolean
    hold_if?: string
    bulk_import_limit?: string | null
    profile_key_limit?: number | null
  },
): Promise<boolean> {
  await requireApp(db, appId)
  const { numUpdatedRows } = await db
    .updateTable('apps')
    .set(values)
    .where('app_id', '=', appId)
    .where((where) =>
      where.or(Object.entries(values).map(([column, value]) => where(sql.ref(column), 'is distinct from', value))),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Renames an app. Returns whether it had another name. Throws {@link InvalidAccount} or {@link UnknownApp}. */
export async function renameApp(db: Database, appId: number, name: string): Promise<boolean> {
  checkName(name)
  return await changeApp(db, appId, { name })
}

/**
 * Issues a new API token. Once it is committed (by the caller, if `db` is a transaction), every process refuses the
 * preceding token, since tokens are looked up per request (service.md, Authentication 2). Throws
 * {@link UnknownApp}.
 */
export async function registerToken(db: Database, appId: number): Promise<string> {
  const token = makeToken(appId)
  const row = { token_hash: hashToken(token), last_four: token.slice(-4) }
  // The lock keeps a deletion of the app from passing between the check and the token.
  const app = usableApp(db, appId)
    .select([sql.val(row.token_hash).as('token_hash'), sql.val(row.last_four).as('last_four')])
    .forNoKeyUpdate()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('api_tokens')
    .columns(['app_id', 'token_hash', 'last_four'])
    .expression(app)
    .onConflict((conflict) => conflict.column('app_id').doUpdateSet({ ...row, created_at: sql<Date>`now()` }))
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 0n) throw new UnknownApp(appId)
  return token
}

/** Throws {@link UnknownApp} if the app does not exist, or is being deleted. */
export async function requireApp(db: Database, appId: number): Promise<void> {
  if ((await usableApp(db, appId).executeTakeFirst()) === undefined) throw new UnknownApp(appId)
}

/**
 * Locks the row of an app until the transaction ends, so that such transactions of one app run one after the other.
 * Throws {@link UnknownApp} as {@link requireApp} does.
 */
export async function lockApp(tx: Database, appId: number): Promise<void> {
  if ((await usableApp(tx, appId).forNoKeyUpdate().executeTakeFirst()) === undefined) throw new UnknownApp(appId)
}

/** Selects an app unless it is being deleted. */
function usableApp(db: Database, appId: number) {
  return db.selectFrom('apps').select('app_id').where('app_id', '=', appId).where('deleting_at', 'is', null)
}

/** Returns an app with its name; undefined if the app does not exist, or is being deleted. */
export async function findApp(db: Database, appId: number): Promise<{ appId: number; name: string } | undefined> {
  const app = await db
    .selectFrom('apps')
    .select('name')
    .where('app_id', '=', appId)
    .where('deleting_at', 'is', null)
    .executeTakeFirst()
  return app && { appId, name: app.name }
}

/** Returns apps whose name contains `text` (in any case) or whose ID is `text`, sorted by name, at most `limit`. */
export async function listApps(db: Database, text: string, limit: number): Promise<{ appId: number; name: string }[]> {
  const rows = await db
    .selectFrom('apps')
    .select(['app_id', 'name'])
    .where('deleting_at', 'is', null)
    .where(sql<boolean>`(position(lower(${text}) in lower(name)) > 0 or app_id::text = ${text})`)
    .orderBy('name')
    .orderBy('app_id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ appId: row.app_id, name: row.name }))
}

/** The part of an app's API token that may be shown. */
export interface TokenSummary {
  lastFour: string
  registeredAt: Date
}

/** Returns the summary of the app's API token. Throws if the app does not exist. */
export async function showToken(db: Database, appId: number): Promise<TokenSummary> {
  const token = await db
    .selectFrom('api_tokens')
    .select(['last_four', 'created_at'])
    .where('app_id', '=', appId)
    .executeTakeFirstOrThrow()
  return { lastFour: token.last_four, registeredAt: token.created_at }
}

/**
 * Issues a new API token if the present one ends in `lastFour`. Otherwise the token has been replaced meanwhile: the
 * function changes nothing and returns undefined. Thus a confirmation that is sent twice replaces the token only once.
 */
export async function replaceToken(db: Database, appId: number, lastFour: string): Promise<string | undefined> {
  return await db.transaction().execute(async (tx) => {
    const current = await tx
      .selectFrom('api_tokens')
      .select('last_four')
      .where('app_id', '=', appId)
      .forUpdate()
      .executeTakeFirst()
    return current?.last_four === lastFour ? await registerToken(tx, appId) : undefined
  })
}
