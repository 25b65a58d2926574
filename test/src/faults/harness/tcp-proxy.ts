import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * What a network may do to connections: `refuse` resets every connection, old or new; `stall` lets nothing through and
 * tells nobody (what is half-open then stays so); `slow` lets some bytes a second through; `cut` resets each new connection
 * once so many bytes have gone through it, both ways together.
 */
export type Weather =
  | { kind: 'fine' | 'refuse' | 'stall' }
  | { kind: 'slow'; bytesPerSecond: number }
  | { kind: 'cut'; afterBytes: number }

/** A proxy in front of a server, which breaks connections as it is told. */
export interface TcpProxy {
  /** Port on 127.0.0.1. */
  port: number
  /** Changes the weather from now on. */
  set(weather: Weather): void
  /** Resets every connection. */
  reset(): void
  close(): Promise<void>
}

/** Starts a proxy on `port`, any free one; `target` gives the port on 127.0.0.1 that new connections are led to. */
export async function startTcpProxy(target: () => number, port = 0): Promise<TcpProxy> {
  let weather: Weather = { kind: 'fine' }
  const links = new Set<Link>()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (weather.kind === 'refuse') return void client.resetAndDestroy()
    const link = new Link(client, connect({ port: target(), host: '127.0.0.1', allowHalfOpen: true }), () => weather)
    links.add(link)
    link.onEnd = () => links.delete(link)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const reset = () => {
    for (const link of links) link.reset()
  }
  return {
    port: (server.address() as AddressInfo).port,
    reset,
    set(next) {
      weather = next
      if (next.kind === 'refuse') reset()
      if (next.kind === 'stall') for (const link of links) link.silence()
    },
    async close() {
      reset()
      server.close()
      await once(server, 'close')
    },
  }
}

/** One connection, in both directions. */
class Link {
  onEnd: () => void = () => {}
  readonly #sockets: readonly [Socket, Socket]
  readonly #weather: () => Weather
  #bytes = 0
  #silent = false

  constructor(client: Socket, server: Socket, weather: () => Weather) {
    this.#sockets = [client, server]
    this.#weather = weather
    if (weather().kind === 'stall') this.silence()
    this.#forward(client, server)
    this.#forward(server, client)
  }

  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.onEnd()
  }

  /** From now on neither side hears of the other again. */
  silence(): void {
    this.#silent = true
    for (const socket of this.#sockets) socket.pause()
  }

  #forward(from: Socket, to: Socket): void {
    from.on('error', () => {}) // 'close' follows
    from.on('close', () => {
      if (!this.#silent) this.reset()
    })
    from.on('end', () => {
      if (!this.#silent) to.end()
    })
    from.on('data', (chunk: Buffer) => {
      if (!this.#silent) this.#pass(chunk, from, to)
    })
  }

  #pass(chunk: Buffer, from: Socket, to: Socket): void {
    const weather = this.#weather()
    this.#bytes += chunk.length
    if (weather.kind === 'cut' && this.#bytes > weather.afterBytes) {
      to.write(chunk.subarray(0, Math.max(0, chunk.length - (this.#bytes - weather.afterBytes))), () => this.reset())
      return
    }
    const flows = to.write(chunk)
    const goOn = () => void (this.#silent || from.resume())
    if (weather.kind === 'slow') {
      from.pause()
      setTimeout(goOn, (chunk.length / weather.bytesPerSecond) * 1000)
    } else if (!flows) {
      from.pause()
      to.once('drain', goOn)
    }
  }
}
