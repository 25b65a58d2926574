import { PassThrough } from 'node:stream'
import { openShares } from '@sluice/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitorOf } from '../access/guard.ts'
import type { LiveImports } from './live-imports.ts'

/** A connection is ended after this, ms; the browser opens another, and is asked again who it is. */
const longest = 60_000

/** How soon it does, ms. */
const reopenAfter = 500

/** Streams at a time in one process, each of which is a connection: of everybody, and of one app, whoever its members are. */
const ofApps = { all: 200, each: 40 }

/** Streams of one visitor, in all sessions: browsers open no more than six to a host themselves, unless over HTTP/2. */
const ofVisitors = { all: ofApps.all, each: 20 }

/** Past a share, a page loads itself again after so many seconds, and asks for a stream once more. */
const busySeconds = 5

const tooMany = {
  status: 'too_many_streams',
  error: { messages: ['Too many pages of this app are open. Load the page again to see changes.'] },
}

/** A reader that is so far behind misses what comes next, bytes. */
const mostUnread = 2 ** 20

/** Answers with server-sent events of imports: bounded in number and time, and ended when the process stops. */
export class EventStreams {
  readonly #live: LiveImports
  readonly #open = new Set<PassThrough>()
  readonly #apps = openShares(ofApps)
  readonly #visitors = openShares(ofVisitors)

  constructor(live: LiveImports) {
    this.#live = live
  }

  /** Begins a stream about an import of an app, which the visitor may see. */
  send(request: FastifyRequest, reply: FastifyReply, appId: number, importId: string): FastifyReply {
    const { email } = visitorOf(request)
    const releases = [this.#apps.take([String(appId)]), this.#visitors.take([email])]
    const release = () => {
      for (const each of releases) each?.()
    }
    const stream = new PassThrough()
    const stop = releases.includes(undefined)
      ? undefined
      : this.#live.watch(appId, importId, (changed, ended) => {
          if (stream.writableEnded) return
          if (stream.writableLength < mostUnread) stream.write(`event: parts\ndata: ${JSON.stringify(changed)}\n\n`)
          if (ended) stream.end('event: ended\ndata:\n\n')
        })
    if (stop === undefined) {
      release()
      request.log.warn({ app_id: appId }, 'too many pages are watched')
      return reply.code(503).header('Retry-After', busySeconds).send(tooMany)
    }
    this.#open.add(stream)
    const timer = setTimeout(() => stream.end(), longest)
    // However it ends: the import ended, time is up, the browser went, or the process stops.
    stream.once('close', () => {
      clearTimeout(timer)
      stop()
      this.#open.delete(stream)
      release()
    })
    stream.write(`retry: ${reopenAfter}\n\n`)
    return reply.type('text/event-stream').header('X-Accel-Buffering', 'no').send(stream)
  }

  /** Ends all streams. */
  close(): void {
    this.#live.close()
    for (const stream of this.#open) stream.end()
  }
}
