import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Database, sql } from '@sluice/database'

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
 * Finds the app that a token belongs to.
 *
 * Takes the header's text as the client sent it. Gives the app's ID, or undefined for a token that is malformed,
 * unknown or replaced; which of these it is cannot be told from the time it takes.
 */
export async function authenticate(db: Database, token: string): Promise<number | undefined> {
  const appId = Number(form.exec(token)?.[1] ?? 0)
  const { rows } = await sql<{ token_hash: Buffer }>`
    /* prepared */
    select token_hash from api_tokens where app_id = ${appId}
  `.execute(db)
  const stored = rows[0]
  const matches = timingSafeEqual(stored?.token_hash ?? Buffer.alloc(32), hashToken(token))
  return stored !== undefined && matches ? appId : undefined
}
