import type { SettingName, Settings } from './settings.ts'

/** The names of the settings that determine the store which all processes share. */
export const sharedStoreSettings = [
  'DATABASE_URL',
  'REDIS_URL',
  'REDIS_SENTINELS',
  'REDIS_SENTINEL_NAME',
  'REDIS_CA_FILE',
  'REDIS_KEY_PREFIX',
] as const

type Name = (typeof sharedStoreSettings)[number]
type WithDefault = 'REDIS_SENTINEL_NAME' | 'REDIS_KEY_PREFIX'

/** How to reach Redis. */
export interface RedisStore {
  /** One address, or the addresses of a cluster's nodes, separated by commas. */
  redisUrl: string
  /** Addresses of Sentinels, and the name of the primary. They replace the host of `redisUrl`. */
  sentinels?: { urls: readonly string[]; name: string }
  /** File with certificate authorities for TLS. */
  caFile?: string
  /** Prefix of all keys. */
  keyPrefix?: string
}

/**
 * The store of the queues and the rate limits' counts, which all processes of a deployment share: Redis or Postgres.
 */
export type SharedStore = RedisStore | { databaseUrl: string }

/**
 * Returns Redis if `REDIS_URL` or `REDIS_SENTINELS` is set, otherwise Postgres, which suffices on one machine
 * (design.md §1, Technology).
 */
export function sharedStore(
  settings: Settings<Exclude<Name, WithDefault>> & Partial<Settings<WithDefault>>,
): SharedStore {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_SENTINELS: urls } = settings
  if (redisUrl === undefined && urls === undefined) return { databaseUrl }
  const { REDIS_SENTINEL_NAME: name = 'mymaster', REDIS_CA_FILE: caFile, REDIS_KEY_PREFIX: keyPrefix } = settings
  return {
    redisUrl: redisUrl ?? 'redis://localhost',
    ...(urls !== undefined && { sentinels: { urls, name } }),
    ...(caFile !== undefined && { caFile }),
    ...(keyPrefix !== undefined && { keyPrefix }),
  }
}

/** Returns the name of the setting with the address of a shared store. */
export function addressSetting(store: SharedStore): SettingName {
  if (!('redisUrl' in store)) return 'DATABASE_URL'
  return store.sentinels === undefined ? 'REDIS_URL' : 'REDIS_SENTINELS'
}
