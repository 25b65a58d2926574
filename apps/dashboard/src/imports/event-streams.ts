import { PassThrough } from 'node:stream'
import { openShares } from '@sluice/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitorOf } from '../access/guard.ts'
import type { LiveImports } from './live-imports.ts'

/** Maximum duration of a stream. The browser then opens another stream, and the session is checked again. */
const longestStreamMs = 60_000

/** The pause before the browser opens another stream, ms. */
const reopenAfterMs = 500

/** Maximum number of open streams of one process, and of one app in it. Each stream is a connection. */
const appLimits = { all: 200, each: 40 }

/**
 * Maximum number of open streams of one visitor, in all sessions. Over HTTP/1, browsers themselves open at most six to
 * a host.
 */
const visitorLimits = { all: appLimits.all, each: 20 }

/** The seconds after which a refused client may request a stream again. */
const busySeconds = 5

const tooMany = {
  status: 'too_many_streams',
  error: { messages: ['Too many pages of this app are open. Load the page again to see changes.'] },
}

/** Maximum number of bytes that a client has not read. Beyond it, the client misses further changes. */
const maxUnreadBytes = 2 ** 20

/** Sends the changes of imports as server-sent events. Limits the number and the duration of streams. */
export class EventStreams {
  readonly #live: LiveImports
  readonly #open = new Set<PassThrough>()
  readonly #apps = openShares(appLimits)
  readonly #visitors = openShares(visitorLimits)

  constructor(live: LiveImports) {
    this.#live = live
  }

  /**
   * Answers with a stream about an import of an app that the visitor may see; with 503 if there are too many streams.
   */
  send(request: FastifyRequest, reply: FastifyReply, appId: number, importId: string): FastifyReply {
    if (request.method === 'HEAD') return reply.type('text/event-stream').send()
    const { email } = visitorOf(request)
    const releases = [this.#apps.take([String(appId)]), this.#visitors.take([email])]
    const release = () => {
      for (const releaseShare of releases) releaseShare?.()
    }
    const stream = new PassThrough()
    const stop = releases.includes(undefined)
      ? undefined
      : this.#live.watch(appId, importId, (changed, ended) => {
          if (stream.writableEnded) return
          if (stream.writableLength < maxUnreadBytes) stream.write(`event: parts\ndata: ${JSON.stringify(changed)}\n\n`)
          if (ended) stream.end('event: ended\ndata:\n\n')
        })
    if (stop === undefined) {
      release()
      request.log.warn({ app_id: appId }, 'event stream refused: too many are open')
      return reply.code(503).header('Retry-After', busySeconds).send(tooMany)
    }
    this.#open.add(stream)
    const timer = setTimeout(() => stream.end(), longestStreamMs)
    // Covers every end: the import ended, the time is up, the browser disconnected, or the process stops.
    stream.once('close', () => {
      clearTimeout(timer)
      stop()
      this.#open.delete(stream)
      release()
    })
    stream.write(`retry: ${reopenAfterMs}\n\n`)
    return reply.type('text/event-stream').header('X-Accel-Buffering', 'no').send(stream)
  }

  /** Ends all streams. */
  close(): void {
    this.#live.close()
    for (const stream of this.#open) stream.end()
  }
}
