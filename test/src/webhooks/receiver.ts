import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { text } from 'node:stream/consumers'
import { listenOn } from '../environment/free-port.ts'

interface Received {
  headers: IncomingHttpHeaders
  body: string
}

/** How a receiver answers the next request. */
type Behaviour = number | 'hang' | 'disconnect' | 'endless body' | { status: number; headers: Record<string, string> }

export interface Receiver {
  url: string
  port: number
  received: Received[]
  /** The answers to the next requests, in order; then 200. */
  next: Behaviour[]
  /** Overrides `next` for all requests. */
  always: Behaviour | undefined
  /** Returns the number of requests that wait for an answer. */
  waiting(): number
  close(): Promise<void>
}

/** Starts a receiver on this machine. With `tls`, it has this certificate. The result is `receiver`, if it is given. */
export async function openReceiver(tls?: { key: string; cert: string }, receiver = {} as Receiver): Promise<Receiver> {
  const received: Received[] = []
  const next: Behaviour[] = []
  const open = new Set<ServerResponse>()
  Object.assign(receiver, { received, next, always: undefined })
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    const body = await text(request).catch(() => '')
    received.push({ headers: request.headers, body })
    answer(response, receiver.always ?? next.shift() ?? 200)
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  const port = await listenOn(server)
  return Object.assign(receiver, {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/hook`,
    port,
    waiting: () => open.size,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  })
}

function answer(response: ServerResponse, behaviour: Behaviour): void {
  if (behaviour === 'hang') return
  if (behaviour === 'disconnect') {
    response.socket?.destroy()
  } else if (behaviour === 'endless body') {
    response.writeHead(200)
    const chunk = Buffer.alloc(4_096, 'x')
    const write = () => {
      if (!response.destroyed) response.write(chunk, () => setImmediate(write))
    }
    write()
  } else if (typeof behaviour === 'number') {
    response.writeHead(behaviour).end()
  } else {
    response.writeHead(behaviour.status, behaviour.headers).end()
  }
}
