import { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'

/** The number of checks during one timeout. */
const checksPerTimeout = 4

/**
 * Destroys the body of an answer with an error if no bytes arrive for `timeoutMs` while its reader waits for them.
 *
 * Storage may have disappeared without closing the connection. A slow reader does not time out: unread bytes are
 * buffered, or the whole body has arrived.
 */
export function timeOutStalledBody(body: Readable, timeoutMs: number): void {
  if (!(body instanceof IncomingMessage)) return
  let bytesSeen = body.socket.bytesRead
  let idleChecks = 0
  const timer = setInterval(() => {
    const isBusy = body.complete || body.readableLength > 0 || body.socket.bytesRead > bytesSeen
    idleChecks = isBusy ? 0 : idleChecks + 1
    bytesSeen = body.socket.bytesRead
    if (idleChecks >= checksPerTimeout) body.destroy(new Error(`storage did not respond for ${timeoutMs} ms`))
  }, timeoutMs / checksPerTimeout)
  timer.unref()
  body.once('close', () => clearInterval(timer))
}
