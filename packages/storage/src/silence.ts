import { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'

/**
 * Destroys the body of an answer of which nothing came for `limit` ms although somebody waits for it: its other end may be
 * gone without a word. A reader that is slow itself has bytes waiting, or had the last of them, and is left alone.
 */
export function endWhenSilent(body: Readable, limit: number): void {
  if (!(body instanceof IncomingMessage)) return
  let seen = body.socket.bytesRead
  let quiet = 0
  const looks = 4
  const timer = setInterval(() => {
    const isBusy = body.complete || body.readableLength > 0 || body.socket.bytesRead > seen
    quiet = isBusy ? 0 : quiet + 1
    seen = body.socket.bytesRead
    if (quiet >= looks) body.destroy(new Error(`storage has been silent for ${limit} ms`))
  }, limit / looks)
  timer.unref()
  body.once('close', () => clearInterval(timer))
}
