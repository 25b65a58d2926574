import { once } from 'node:events'
import { createServer, connect as openSocket, type Socket } from 'node:net'
import { listenOn } from '../environment/free-port.ts'

/** A link to a server that a test can interrupt, to see how clients handle network faults. */
export interface InterruptedLink {
  /** The server's address, through the link. */
  url: string
  /** Returns the number of round trips so far: how often clients began to send after an answer of the server. */
  roundTrips(): number
  /** Drops all bytes from now on without closing connections, like a network that loses packets. */
  hang(): void
  /** Closes every connection and refuses new ones, like a server that is gone. */
  cut(): Promise<void>
  /** Accepts and forwards new connections again. */
  restore(): Promise<void>
  close(): Promise<void>
}

/** Opens a link to the server of a URL such as `redis://host:port`. */
export async function openLink(target: string): Promise<InterruptedLink> {
  const url = new URL(target)
  const [host, targetPort] = [url.hostname, Number(url.port)]
  const sockets = new Set<Socket>()
  let hanging = false
  let roundTrips = 0
  const server = createServer((near) => {
    const far = openSocket(targetPort, host)
    let isSending = false
    near.on('data', () => {
      if (!isSending) roundTrips += 1
      isSending = true
    })
    far.on('data', () => {
      isSending = false
    })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => void (hanging || to.write(chunk)))
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const port = await listenOn(server)
  url.hostname = '127.0.0.1'
  url.port = String(port)

  const cut = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    url: url.href,
    roundTrips: () => roundTrips,
    hang() {
      hanging = true
    },
    cut,
    async restore() {
      await cut()
      hanging = false
      await listenOn(server, port)
    },
    close: cut,
  }
}
