import type { Redis } from 'ioredis'

/** Pause before a connection that ended is opened again, ms. */
const reopenMs = 1_000

/**
 * Makes a connection open again until this process closes it, and connections that are duplicated from it. ioredis
 * gives a connection up for good if the Sentinels announce another primary at the moment when it is being opened. Every
 * later command on it would fail.
 */
export function keepOpen(redis: Redis): Redis {
  const { disconnect, quit, duplicate } = redis
  let isClosed = false
  Object.assign(redis, {
    disconnect(reconnect = false): void {
      if (!reconnect) isClosed = true
      Reflect.apply(disconnect, redis, [reconnect])
    },
    quit(...parameters: unknown[]): unknown {
      isClosed = true
      return Reflect.apply(quit, redis, parameters)
    },
    duplicate: (...parameters: unknown[]) => keepOpen(Reflect.apply(duplicate, redis, parameters)),
  })
  redis.on('end', () => {
    if (isClosed) return
    setTimeout(() => {
      // If it fails, the connection ends once more.
      if (!isClosed) redis.connect().catch(() => {})
    }, reopenMs)
  })
  return redis
}
