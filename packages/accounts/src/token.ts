import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Database, sql } from '@sluice/database'
import { joinCalls } from '@sluice/joined-calls'

const form = /^slc_([1-9]\d{0,8})_[\w-]{43}$/

/** A new API token for an app: its ID, so that the look-up stays in the app's own rows, and 256 random bits. */
export function makeToken(appId: number): string {
  return `slc_${appId}_${randomBytes(32).toString('base64url')}`
}

/** What is stored of a token. It is random, so one plain SHA-256 cannot be turned back. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/**
 * Opens the look-up of tokens. Look-ups that are asked for at the same time share one query, which always begins after
 * they were asked for: a token that was replaced before is never taken for a good one.
 *
 * Gives a function that finds the app that a token belongs to. It takes the header's text as the client sent it, and gives
 * the app's ID, or undefined for a token that is malformed, unknown or replaced; which of these it is cannot be told from
 * the time it takes.
 */
export function authenticator(db: Database): (token: string) => Promise<number | undefined> {
  const storedHash = joinCalls<number, Buffer | undefined>((_, appIds) => storedHashes(db, appIds))
  return async (token) => {
    const appId = Number(form.exec(token)?.[1] ?? 0)
    const stored = await storedHash('', appId)
    const matches = timingSafeEqual(stored ?? Buffer.alloc(32), hashToken(token))
    return stored !== undefined && matches ? appId : undefined
  }
}

/** The hash of each app's token, in order; undefined where there is no such app. */
async function storedHashes(db: Database, appIds: readonly number[]): Promise<(Buffer | undefined)[]> {
  const { rows } = await sql<{ app_id: number; token_hash: Buffer }>`
    /* prepared */
    select app_id, token_hash from api_tokens where app_id = any(${[...new Set(appIds)]}::integer[])
  `.execute(db)
  const hashes = new Map(rows.map(({ app_id, token_hash }) => [app_id, token_hash]))
  return appIds.map((appId) => hashes.get(appId))
}
