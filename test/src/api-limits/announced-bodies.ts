import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { limits } from '@sluice/contract'

/** Requests that announce a body and do not send it. Until they end, the API reserves room for their bodies. */
export interface AnnouncedBodies {
  /**
   * Announces one more JSON body and one more file. The API refuses these requests if it has no room for their bodies.
   */
  announce(): Promise<void>
  /** Drops all requests. */
  release(): void
}

export function announceBodies(url: string, token: string): AnnouncedBodies {
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  async function open(path: string, headers: string): Promise<void> {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    await once(socket, 'connect')
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nX-Service-Token: ${token}\r\n${headers}\r\n\r\n`)
  }
  const jsonLength = `Content-Type: application/json\r\nContent-Length: ${limits.jsonBytes}`
  const unknownLength = 'Content-Type: text/csv\r\nTransfer-Encoding: chunked'
  return {
    async announce() {
      await open('/v3/user_profiles/bulk_import', jsonLength)
      await open('/v2/user_profiles/bulk_import', unknownLength)
    },
    release() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
