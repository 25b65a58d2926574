import { type Database, isDue, sql } from '@sluice/database'

/** Identifies an idempotency key: clients choose keys for each function of an app. */
export interface KeyId {
  appId: number
  /** Method and path of the route. */
  function: string
  key: string
}

/** A key whose request this process handles. */
export interface KeyClaim extends KeyId {
  /** Tells this claim from a later claim of the same key. */
  owner: string
}

/** A response that is kept for repetitions of its request. */
export interface StoredResponse {
  status: number
  /** The body as it was sent; null if the request is handled again for a repetition. */
  body: string | null
  /** SHA-256 of the request's body. */
  requestHash: Buffer
  /** The import that the request began; null if it began none. */
  importId: string | null
}

/**
 * What a key stands for: a request that this process may handle now, a request that is in flight, or a stored response.
 */
export type FoundKey =
  | { outcome: 'claimed'; claim: KeyClaim }
  | { outcome: 'in flight' }
  | { outcome: 'stored'; response: StoredResponse }

/** The claim has ended: its process did not renew it in time, and another request claimed the key. */
export class KeyClaimLost extends Error {
  override readonly name = 'KeyClaimLost'
}

/**
 * How long a claim stays valid unless it is renewed, ms. After a crash, a repetition is refused as in flight for up to
 * this time.
 */
export const keyLeaseMs = 10_000

/** Hours for which a key is kept (second-day.md §4, Keys). */
export const keptHours = 24

const leaseEnd = sql<Date>`now() + make_interval(secs => ${keyLeaseMs / 1000}::double precision)`

/**
 * Claims a key for a request, or returns what became of the earlier request with the key. A claim is valid for
 * {@link keyLeaseMs}. A key whose 24 hours are over, or whose process died before the response, is claimed anew.
 */
export async function claimKey(db: Database, id: KeyId): Promise<FoundKey> {
  const owner = crypto.randomUUID()
  const { rows } = await sql`
    insert into idempotency_keys as k (app_id, function, key, owner, lease_until)
    values (${id.appId}, ${id.function}, ${id.key}, ${owner}, ${leaseEnd})
    on conflict (app_id, function, key) do update
      set owner = excluded.owner, lease_until = excluded.lease_until, created_at = excluded.created_at,
        status = null, body = null, request_hash = null, import_id = null
      where ${isDue(sql`k.lease_until`, keyLeaseMs)}
        and (k.status is null or k.created_at < now() - make_interval(hours => ${keptHours}))
    returning 1
  `.execute(db)
  if (rows.length > 0) return { outcome: 'claimed', claim: { ...id, owner } }
  const response = await storedResponse(db, id)
  return response === undefined ? { outcome: 'in flight' } : { outcome: 'stored', response }
}

async function storedResponse(db: Database, id: KeyId): Promise<StoredResponse | undefined> {
  const row = await db
    .selectFrom('idempotency_keys')
    .select(['status', 'body', 'request_hash', 'import_id'])
    .where('app_id', '=', id.appId)
    .where('function', '=', id.function)
    .where('key', '=', id.key)
    .executeTakeFirst()
  if (row === undefined || row.status === null || row.request_hash === null) return undefined
  return { status: row.status, body: row.body, requestHash: row.request_hash, importId: row.import_id }
}

/**
 * Builds an update of a claim's row. It applies only if no later claim has replaced the claim and no response is
 * stored.
 */
function claimed(db: Database, claim: KeyClaim) {
  return db
    .updateTable('idempotency_keys')
    .where('app_id', '=', claim.appId)
    .where('function', '=', claim.function)
    .where('key', '=', claim.key)
    .where('owner', '=', claim.owner)
    .where('status', 'is', null)
}

/**
 * Stores the response to a claim's request. If this runs in the transaction of the request's effect, effect and
 * response commit together. A crash then leaves no effect without its response. Throws {@link KeyClaimLost}.
 */
export async function completeKey(tx: Database, claim: KeyClaim, response: StoredResponse): Promise<void> {
  const { numUpdatedRows } = await claimed(tx, claim)
    .set({
      status: response.status,
      body: response.body,
      request_hash: response.requestHash,
      import_id: response.importId,
      lease_until: sql<Date>`now()`,
    })
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new KeyClaimLost('another request has claimed the idempotency key')
}

/** Extends a claim whose request is still in flight. Returns false if the claim has ended. */
export async function renewKey(db: Database, claim: KeyClaim): Promise<boolean> {
  const { numUpdatedRows } = await claimed(db, claim).set({ lease_until: leaseEnd }).executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Forgets a key whose response is not kept. Does nothing if the claim has ended or its response is stored. */
export async function releaseKey(db: Database, claim: KeyClaim): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where('app_id', '=', claim.appId)
    .where('function', '=', claim.function)
    .where('key', '=', claim.key)
    .where('owner', '=', claim.owner)
    .where('status', 'is', null)
    .execute()
}
