import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listenOn } from '../../environment/free-port.ts'

/**
 * The state of a simulated network:
 * - `fine`: forwards everything
 * - `refuse`: resets every connection, old or new
 * - `stall`: forwards nothing and closes nothing; connections that stalled stay half-open
 * - `slow`: limits the rate of each direction
 * - `cut`: resets each connection after some bytes, counted in both directions together
 */
export type NetworkState =
  | { kind: 'fine' | 'refuse' | 'stall' }
  | { kind: 'slow'; bytesPerSecond: number }
  | { kind: 'cut'; afterBytes: number }

/** A TCP proxy that simulates faults of the network in front of a server. */
export interface TcpProxy {
  port: number
  set(state: NetworkState): void
  reset(): void
  close(): Promise<void>
}

/**
 * Starts a proxy on `port` of `host`; 0 picks a free port. `target` returns the port on 127.0.0.1 of new connections.
 */
export async function startTcpProxy(target: () => number, port = 0, host = '127.0.0.1'): Promise<TcpProxy> {
  let state: NetworkState = { kind: 'fine' }
  const proxy = await listenForLinks<Link>({ port, host, allowHalfOpen: true }, (client) => {
    if (state.kind === 'refuse') return void resetSocket(client)
    return new Link(client, connect({ port: target(), host: '127.0.0.1', allowHalfOpen: true }), () => state)
  })
  return {
    ...proxy,
    set(next) {
      state = next
      if (next.kind === 'refuse') proxy.reset()
      if (next.kind === 'stall') for (const link of proxy.links) link.stall()
    },
  }
}

/** Resets a connection. Node would keep the descriptor of a socket that is reset while it ends. */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** A proxied connection. */
export interface ProxiedLink {
  /** Ends both sides. */
  reset(): void
}

/**
 * Listens on a port and opens a link for each client, which counts until the client's connection closes. `reset` resets
 * all links.
 */
export async function listenForLinks<Each extends ProxiedLink>(
  { port = 0, host = '127.0.0.1', allowHalfOpen = false },
  open: (client: Socket) => Each | undefined,
): Promise<{ port: number; links: ReadonlySet<Each>; reset(): void; close(): Promise<void> }> {
  const links = new Set<Each>()
  const server = createServer({ allowHalfOpen, noDelay: true }, (client) => {
    const link = open(client)
    if (link === undefined) return
    links.add(link)
    client.on('close', () => links.delete(link))
  })
  const ownPort = await listenOn(server, port, host)
  const reset = () => {
    for (const link of links) link.reset()
  }
  return {
    port: ownPort,
    links,
    reset,
    async close() {
      reset()
      server.close()
      await once(server, 'close')
    },
  }
}

class Link {
  readonly #sockets: readonly [Socket, Socket]
  readonly #state: () => NetworkState
  #bytes = 0
  #stalled = false

  constructor(client: Socket, server: Socket, state: () => NetworkState) {
    this.#sockets = [client, server]
    this.#state = state
    if (state().kind === 'stall') this.stall()
    this.#forward(client, server)
    this.#forward(server, client)
  }

  reset(): void {
    for (const socket of this.#sockets) resetSocket(socket)
  }

  /** Stops forwarding for good, and leaves both sides open. */
  stall(): void {
    this.#stalled = true
    for (const socket of this.#sockets) socket.pause()
  }

  #forward(from: Socket, to: Socket): void {
    from.on('error', () => {}) // 'close' follows
    from.on('close', () => {
      if (!this.#stalled) this.reset()
    })
    from.on('end', () => {
      if (!this.#stalled) to.end()
    })
    from.on('data', (chunk: Buffer) => {
      if (!this.#stalled) this.#pass(chunk, from, to)
    })
  }

  #pass(chunk: Buffer, from: Socket, to: Socket): void {
    const state = this.#state()
    this.#bytes += chunk.length
    if (state.kind === 'cut' && this.#bytes > state.afterBytes) {
      to.write(chunk.subarray(0, Math.max(0, chunk.length - (this.#bytes - state.afterBytes))), () => this.reset())
      return
    }
    const flows = to.write(chunk)
    const goOn = () => void (this.#stalled || from.resume())
    if (state.kind === 'slow') {
      from.pause()
      setTimeout(goOn, (chunk.length / state.bytesPerSecond) * 1000)
    } else if (!flows) {
      from.pause()
      to.once('drain', goOn)
    }
  }
}
