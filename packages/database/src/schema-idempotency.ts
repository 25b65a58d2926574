import type { Timestamp } from './timestamps.ts'

/** Idempotency keys with the responses that are kept for repetitions (packages/idempotency). */
export interface IdempotencyKeysTable {
  app_id: number
  /** Method and path of the route. */
  function: string
  key: string
  /** Identifies the latest claim of the key, which may have ended. */
  owner: string
  lease_until: Timestamp
  created_at: Timestamp
  /** Null while the request is in flight; otherwise the response. */
  status: number | null
  body: string | null
  /** SHA-256 of the request's body. */
  request_hash: Buffer | null
  import_id: string | null
}
