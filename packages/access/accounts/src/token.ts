import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Database, prepared } from '@sluice/database'
import { joinCalls } from '@sluice/joined-calls'

const form = /^slc_([1-9]\d{0,8})_[\w-]{43}$/

/** Creates an API token from 256 random bits and the app's ID. The ID keeps the lookup within the app's own rows. */
export function makeToken(appId: number): string {
  return `slc_${appId}_${randomBytes(32).toString('base64url')}`
}

/** Returns the app ID that a token names, whether it is valid or not; undefined if the token is malformed. */
export function appOfToken(token: string): number | undefined {
  const [, appId] = form.exec(token) ?? []
  return appId === undefined ? undefined : Number(appId)
}

/** Returns the hash that is stored of a token. A plain SHA-256 suffices, since the token is random. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** The app of a token, with the limit that the app has of its own. */
export interface TokenOwner {
  appId: number
  /** Limit of first requests of v3, such as `100/10m`; null if the setting applies. */
  bulkImportLimit: string | null
}

/**
 * Returns a short key of a token for counts and logs of its requests: 96 bits of its hash. It tells tokens apart, and
 * does not reveal them.
 */
export function tokenKey(token: string): string {
  return hashToken(token).toString('base64url', 0, 12)
}

/**
 * Opens the lookup of tokens (design.md §4, Isolation). Concurrent lookups share one query. The query always begins
 * after the lookups, so a token that was replaced before a lookup is never accepted.
 *
 * Returns a function that accepts the header's text as the client sent it. It returns the app, or undefined if the
 * token is malformed, unknown or replaced. Its duration does not reveal which of these is the case.
 */
export function authenticator(db: Database): (token: string) => Promise<TokenOwner | undefined> {
  const storedToken = joinCalls<number, StoredToken | undefined>((_, appIds) => storedTokens(db, appIds))
  return async (token) => {
    const appId = appOfToken(token) ?? 0
    const stored = await storedToken('', appId)
    const matches = timingSafeEqual(stored?.token_hash ?? Buffer.alloc(32), hashToken(token))
    return stored !== undefined && matches ? { appId, bulkImportLimit: stored.bulk_import_limit } : undefined
  }
}

interface StoredToken {
  app_id: number
  token_hash: Buffer
  bulk_import_limit: string | null
}

/** Returns the token and the limits of each app, in order; undefined for an app that does not exist. */
async function storedTokens(db: Database, appIds: readonly number[]): Promise<(StoredToken | undefined)[]> {
  const { rows } = await prepared<StoredToken>`
    select t.app_id, t.token_hash, a.bulk_import_limit from api_tokens t join apps a on a.app_id = t.app_id
    where t.app_id = any(${[...new Set(appIds)]}::integer[])
  `.execute(db)
  const tokens = new Map(rows.map((row) => [row.app_id, row]))
  return appIds.map((appId) => tokens.get(appId))
}
