import type { Server } from 'node:http'

/**
 * How long requests in flight may take when the process stops, ms. Shorter than the time that the process has to stop.
 */
const graceMs = 10_000

/**
 * Prevents clients from delaying the end of a server that is about to close. Idle connections are closed at once, and
 * slow connections after 10 s.
 */
export function closeConnections(server: Server): void {
  if (!server.listening) return
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const all = setTimeout(() => server.closeAllConnections(), graceMs)
  server.once('close', () => {
    clearInterval(idle)
    clearTimeout(all)
  })
}
