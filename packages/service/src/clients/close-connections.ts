import type { Server } from 'node:http'

/** How long requests that are under way may take when the process stops, ms: less than the process has for it. */
const grace = 10_000

/**
 * Lets no client hold up the end of a server that is about to close: what falls idle is closed at once, what is slow after
 * a while.
 */
export function closeConnections(server: Server): void {
  if (!server.listening) return
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const all = setTimeout(() => server.closeAllConnections(), grace)
  server.once('close', () => {
    clearInterval(idle)
    clearTimeout(all)
  })
}
