import { connect, type Socket } from 'node:net'
import { listenForLinks, resetSocket } from '../../../faults/harness/tcp-proxy.ts'
import type { Unit, UnitReader } from './unit.ts'

/**
 * What happens to a unit:
 * - `forward`: it reaches the server, and its answer the client
 * - `withhold`: it does not reach the server, and the connection breaks when `meanwhile` settles
 * - `lose answer`: the server acts on it, and the connection breaks instead of the answer. `before` runs before the
 *   unit is forwarded. The connection breaks when the promise of `after` settles
 */
export type Fate =
  | { kind: 'forward' }
  | { kind: 'withhold'; meanwhile: () => Promise<void> }
  | { kind: 'lose answer'; before: () => void; after: () => Promise<void> }

/** A proxy in front of a server, which applies a {@link Fate} to each unit of a client's bytes. */
export interface MessageProxy {
  /** Port on 127.0.0.1. */
  port: number
  /** When the last bytes passed, on the clock of `performance.now()`. */
  lastPassed(): number
  close(): Promise<void>
}

/**
 * Starts a proxy in front of the server on `target`, a port of 127.0.0.1. `decide` is called once for each unit, in
 * the order in which the units are complete.
 */
export async function startMessageProxy(
  target: number,
  openReader: () => UnitReader,
  decide: (unit: Unit) => Fate,
): Promise<MessageProxy> {
  let lastPassed = performance.now()
  const onBytes = () => {
    lastPassed = performance.now()
  }
  const proxy = await listenForLinks({}, (client) => {
    return new Link(client, connect({ port: target, host: '127.0.0.1', noDelay: true }), openReader(), {
      decide,
      onBytes,
    })
  })
  return { ...proxy, lastPassed: () => lastPassed }
}

interface LinkOwner {
  decide(unit: Unit): Fate
  onBytes(): void
}

class Link {
  readonly #client: Socket
  readonly #server: Socket
  readonly #owner: LinkOwner
  /** Accepts the server's bytes instead of the client. */
  #swallow: ((chunk: Buffer) => void) | undefined
  /** Nothing more is forwarded in either direction. */
  #isCut = false

  constructor(client: Socket, server: Socket, reader: UnitReader, owner: LinkOwner) {
    this.#client = client
    this.#server = server
    this.#owner = owner
    for (const socket of [client, server]) {
      socket.on('error', () => {}) // 'close' follows
      socket.on('close', () => this.reset())
    }
    client.on('data', (chunk: Buffer) => {
      owner.onBytes()
      for (const unit of reader.push(chunk)) if (!this.#isCut) this.#pass(unit, reader)
    })
    server.on('data', (chunk: Buffer) => {
      owner.onBytes()
      if (this.#swallow !== undefined) this.#swallow(chunk)
      else if (!this.#isCut) client.write(chunk)
    })
  }

  /** Resets the connection of the client, and ends the connection to the server, which still reads what was sent. */
  reset(): void {
    this.#isCut = true
    resetSocket(this.#client)
    this.#server.end()
  }

  #pass(unit: Unit, reader: UnitReader): void {
    const fate = this.#owner.decide(unit)
    if (fate.kind === 'withhold') {
      this.#isCut = true
      void fate.meanwhile().finally(() => this.reset())
      return
    }
    if (fate.kind === 'lose answer') {
      this.#isCut = true
      fate.before()
      const isComplete = reader.awaitAnswer()
      this.#swallow = (chunk) => {
        if (!isComplete(chunk)) return
        this.#swallow = () => {}
        void fate.after().finally(() => this.reset())
      }
    }
    this.#server.write(unit.bytes)
  }
}
