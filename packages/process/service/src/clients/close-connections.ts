import type { Server } from 'node:http'
import { endSilentConnections } from './server.ts'

/**
 * How long requests in flight may take when the process stops, ms. Shorter than the time that the process has to stop.
 */
const graceMs = 10_000

/**
 * Prevents clients from delaying the end of a server that is about to close. Idle connections are closed at once, also
 * those without a request so far, and slow connections after 10 s.
 */
export function closeConnections(server: Server): void {
  if (!server.listening) return
  const closeIdle = () => {
    server.closeIdleConnections()
    endSilentConnections(server)
  }
  const idle = setInterval(closeIdle, 50)
  const all = setTimeout(() => server.closeAllConnections(), graceMs)
  server.once('close', () => {
    clearInterval(idle)
    clearTimeout(all)
  })
}
