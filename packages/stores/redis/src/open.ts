import { readFileSync } from 'node:fs'
import { Cluster, Redis } from 'ioredis'
import { keepOpen } from './keep-open.ts'

export interface RedisAddress {
  /** One address, or the addresses of a cluster's nodes, separated by commas. */
  redisUrl: string
  /** Addresses of Sentinels, and the name of the primary. The Sentinels' answer replaces the host of `redisUrl`. */
  sentinels?: { urls: readonly string[]; name: string }
  /** File with certificate authorities for TLS. */
  caFile?: string
}

const defaultPort = 6379
const defaultSentinelPort = 26_379

/** How a connection to Redis behaves. */
export interface RedisOptions {
  /** How often a command is tried again after its connection broke; null for no limit. */
  retries: number | null
  /** Whether commands wait for a connection. If false, commands without a connection fail at once. */
  queued: boolean
  /** Whether the connection opens only on `connect()`. */
  lazy?: boolean
  /** A server that leaves a command unanswered for this long counts as dead, and a new connection is opened. */
  responseTimeoutMs: number
  /** Longest pause between two attempts to connect. */
  longestPauseMs: number
}

/**
 * Opens a connection to Redis (second-day.md §7, Redis): to one server, to the primary that Sentinels name, or to a
 * cluster if `redisUrl` has several addresses. The connection finds the cluster's other nodes through these addresses.
 * User, password and TLS of the first address apply to all nodes.
 */
export function openRedis(address: RedisAddress, options: RedisOptions): Redis | Cluster {
  const [first = '', ...others] = address.redisUrl.split(',')
  const pause = (times: number) => Math.min(times * 100, options.longestPauseMs)
  const start = { enableOfflineQueue: options.queued, lazyConnect: options.lazy ?? false }
  const login = { ...limitsOf(options), ...loginOf(first, address.caFile) }
  if (address.sentinels !== undefined) {
    return keepOpen(
      new Redis({ ...start, ...login, ...bySentinels(address.sentinels, address.caFile, pause), retryStrategy: pause }),
    )
  }
  if (others.length === 0) return new Redis(first, { ...start, ...login, retryStrategy: pause })
  return new Cluster(
    [first, ...others].map((url) => hostOf(url, defaultPort)),
    { ...start, clusterRetryStrategy: pause, redisOptions: login },
  )
}

/** User, password, database and TLS of an address. */
interface Login {
  username?: string
  password?: string
  db?: number
  tls?: { ca?: Buffer }
}

function limitsOf({ retries, responseTimeoutMs }: RedisOptions) {
  return { maxRetriesPerRequest: retries, socketTimeout: responseTimeoutMs, connectTimeout: responseTimeoutMs }
}

function loginOf(url: string, caFile: string | undefined): Login {
  const { username, password, pathname } = new URL(url)
  const database = Number(pathname.slice(1))
  const tls = tlsOf(url, caFile)
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(database > 0 && { db: database }),
    ...(tls && { tls }),
  }
}

function tlsOf(url: string, caFile: string | undefined): { ca?: Buffer } | undefined {
  if (!url.startsWith('rediss:')) return undefined
  return caFile === undefined ? {} : { ca: readFileSync(caFile) }
}

/** Returns the options that find the primary. User, password and TLS of the first Sentinel apply to all Sentinels. */
function bySentinels(
  { urls, name }: { urls: readonly string[]; name: string },
  caFile: string | undefined,
  pause: (times: number) => number,
) {
  const { username, password, tls } = loginOf(urls[0] ?? '', caFile)
  return {
    sentinels: urls.map((url) => hostOf(url, defaultSentinelPort)),
    name,
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...(tls !== undefined && { sentinelTLS: tls }),
    enableTLSForSentinelMode: true,
    sentinelRetryStrategy: pause,
    // The Sentinels tell at once when another server becomes the primary.
    failoverDetector: true,
    // A former primary that became a replica refuses writes: connect anew and send the command again.
    reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 2 : false) as 2 | false,
  }
}

function hostOf(url: string, portByDefault: number): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? portByDefault : Number(port) }
}
