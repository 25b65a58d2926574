import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * How long requests in flight may take when the process stops, ms. Shorter than the time that the process has to stop.
 */
const graceMs = 10_000

const openConnections = new WeakMap<Server, Set<Socket>>()

/**
 * Remembers the connections of a server, because Node does not count a connection as idle before its first request.
 * Browsers open such connections in advance.
 */
export function rememberConnections(server: Server): void {
  const open = new Set<Socket>()
  openConnections.set(server, open)
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
}

/**
 * Prevents clients from delaying the end of a server that is about to close. Idle connections are closed at once, also
 * those without a request so far, and slow connections after 10 s.
 */
export function closeConnections(server: Server): void {
  if (!server.listening) return
  const closeIdle = () => {
    server.closeIdleConnections()
    for (const socket of openConnections.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy()
  }
  const idle = setInterval(closeIdle, 50)
  const all = setTimeout(() => server.closeAllConnections(), graceMs)
  server.once('close', () => {
    clearInterval(idle)
    clearTimeout(all)
  })
}
