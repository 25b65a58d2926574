import { Cluster, Redis } from 'ioredis'

/** How a connection to Redis behaves. */
export interface RedisOptions {
  /** How often a command is tried again after its connection broke; null for no limit. */
  retries: number | null
  /** Whether commands wait for a connection. Otherwise they fail at once. */
  queued: boolean
  /** Whether the connection opens only on `connect()`. */
  lazy?: boolean
  /** A server that leaves a command unanswered for this long counts as dead, and a new connection is opened. */
  responseTimeoutMs: number
  /** Longest pause between two attempts to connect. */
  longestPauseMs: number
}

/**
 * Opens a connection to Redis. If `urls` has several addresses, separated by commas, they are nodes of a Redis Cluster,
 * and the connection finds the other nodes through them. User, password and TLS of the first address apply to all
 * nodes.
 */
export function openRedis(urls: string, options: RedisOptions): Redis | Cluster {
  const { retries, queued, lazy = false, responseTimeoutMs, longestPauseMs } = options
  const pause = (times: number) => Math.min(times * 100, longestPauseMs)
  const ofConnection = {
    maxRetriesPerRequest: retries,
    socketTimeout: responseTimeoutMs,
    connectTimeout: responseTimeoutMs,
  }
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
