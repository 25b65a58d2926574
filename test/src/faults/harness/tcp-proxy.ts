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
 * Starts a proxy on `port` of `host`; 0 picks a free port. `target` returns the port on 127.0.0.1 for new connections.
 */
export async function startTcpProxy(target: () => number, port = 0, host = '127.0.0.1'): Promise<TcpProxy> {
  let state: NetworkState = { kind: 'fine' }
  const links = new Set<Link>()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (state.kind === 'refuse') return void client.resetAndDestroy()
    const link = new Link(client, connect({ port: target(), host: '127.0.0.1', allowHalfOpen: true }), () => state)
    links.add(link)
    link.onEnd = () => links.delete(link)
  })
  const ownPort = await listenOn(server, port, host)
  const reset = () => {
    for (const link of links) link.reset()
  }
  return {
    port: ownPort,
    reset,
    set(next) {
      state = next
      if (next.kind === 'refuse') reset()
      if (next.kind === 'stall') for (const link of links) link.stall()
    },
    async close() {
      reset()
      server.close()
      await once(server, 'close')
    },
  }
}

class Link {
  onEnd: () => void = () => {}
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
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.onEnd()
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
