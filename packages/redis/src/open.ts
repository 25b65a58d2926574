import { Cluster, Redis } from 'ioredis'

/** How a connection to Redis behaves. */
export interface RedisOptions {
  /** How often a command is tried on a broken connection; null for as long as it takes. */
  retries: number | null
  /** Whether commands wait while there is no connection. */
  queued: boolean
  /** Opens on `connect()` only. */
  lazy?: boolean
  /** A server that owes an answer for so long is taken for dead, and connected to anew, ms. */
  silence: number
  /** Longest pause between two tries to connect, ms. */
  longestPause: number
}

/**
 * Opens a connection to Redis, or to a Redis Cluster where `urls` names several of its nodes, separated by commas (the others
 * are found by asking these). User, password and TLS are those of the first address.
 */
export function openRedis(urls: string, options: RedisOptions): Redis | Cluster {
  const { retries, queued, lazy = false, silence, longestPause } = options
  const pause = (times: number) => Math.min(times * 100, longestPause)
  const ofConnection = { maxRetriesPerRequest: retries, socketTimeout: silence, connectTimeout: silence }
  const [first = '', ...others] = urls.split(',')
  if (others.length === 0) {
    return new Redis(first, { ...ofConnection, enableOfflineQueue: queued, lazyConnect: lazy, retryStrategy: pause })
  }
  const { username, password, protocol } = new URL(first)
  return new Cluster([first, ...others].map(nodeOf), {
    enableOfflineQueue: queued,
    lazyConnect: lazy,
    clusterRetryStrategy: pause,
    redisOptions: {
      ...ofConnection,
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  })
}

function nodeOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 6379 : Number(port) }
}
