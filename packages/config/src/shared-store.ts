import type { Settings } from './settings.ts'

/** What all processes of a deployment share beside the tables: queues and counts live in Redis, or in Postgres. */
export type SharedStore = { redisUrl: string } | { databaseUrl: string }

/** Redis where it is set; on one machine Postgres does (design.md §1, Technology). */
export function sharedStore(settings: Settings<'DATABASE_URL' | 'REDIS_URL'>): SharedStore {
  return settings.REDIS_URL === undefined ? { databaseUrl: settings.DATABASE_URL } : { redisUrl: settings.REDIS_URL }
}
