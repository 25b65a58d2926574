import { PassThrough } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type LiveImports, mostWatchers } from './live.ts'

/** A connection is ended after this, ms; the browser opens another, and is asked again who it is. */
const longest = 60_000

/** How soon it does, ms. */
const reopenAfter = 500

/** Connections of one visitor at a time: browsers open no more than six to a host themselves, unless over HTTP/2. */
const mostPerVisitor = 20

/** A reader that is so far behind misses what comes next, bytes. */
const mostUnread = 2 ** 20

/** Answers with server-sent events of imports: bounded in number and time, and ended when the process stops. */
export class EventStreams {
  readonly #live: LiveImports
  readonly #open = new Set<PassThrough>()
  readonly #ofVisitor = new Map<string, number>()

  constructor(live: LiveImports) {
    this.#live = live
  }

  /** Begins a stream about an import of an app, which the visitor may see. */
  send(request: FastifyRequest, reply: FastifyReply, appId: number, importId: string): FastifyReply {
    const email = request.visitor?.email ?? ''
    const ofVisitor = this.#ofVisitor.get(email) ?? 0
    const stream = new PassThrough()
    const stop =
      ofVisitor < mostPerVisitor
        ? this.#live.watch(appId, importId, (changed, ended) => {
            if (stream.writableEnded) return
            if (stream.writableLength < mostUnread) stream.write(`event: parts\ndata: ${JSON.stringify(changed)}\n\n`)
            if (ended) stream.end('event: ended\ndata:\n\n')
          })
        : undefined
    if (stop === undefined) {
      request.log.warn({ most: mostWatchers }, 'too many pages are watched')
      return reply.code(503).header('Retry-After', 5).send({ status: 'unavailable' })
    }
    this.#open.add(stream)
    this.#ofVisitor.set(email, ofVisitor + 1)
    const timer = setTimeout(() => stream.end(), longest)
    // However it ends: the import ended, time is up, the browser went, or the process stops.
    stream.once('close', () => {
      clearTimeout(timer)
      stop()
      this.#open.delete(stream)
      const left = (this.#ofVisitor.get(email) ?? 1) - 1
      if (left > 0) this.#ofVisitor.set(email, left)
      else this.#ofVisitor.delete(email)
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
