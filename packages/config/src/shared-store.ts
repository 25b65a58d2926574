import type { Settings } from './settings.ts'

/**
 * The store of the queues and the rate limits' counts, which all processes of a deployment share: Redis or Postgres.
 */
export type SharedStore = { redisUrl: string } | { databaseUrl: string }

/**
 * Returns Redis if `REDIS_URL` is set, otherwise Postgres, which suffices on one machine (design.md §1, Technology).
 */
export function sharedStore(settings: Settings<'DATABASE_URL' | 'REDIS_URL'>): SharedStore {
  return settings.REDIS_URL === undefined ? { databaseUrl: settings.DATABASE_URL } : { redisUrl: settings.REDIS_URL }
}
