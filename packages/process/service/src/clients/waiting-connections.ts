import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clientNetwork } from './network.ts'

/** Limits for connections of one network address on which the server waits for the client. */
export interface WaitingLimits {
  /** Maximum number of waiting connections of one address. */
  perAddress: number
  /**
   * A connection that has waited for less than this stays open up to ten times the limit, ms: a burst is not an attack.
   */
  patienceMs: number
}

/** Beyond the limit times this factor, connections end even if they have waited for less than `patienceMs`. */
const burstFactor = 10

/** The connections of a server that wait for their clients. Their number is bounded for each address. */
export interface WaitingConnections {
  /** Counts a new connection. */
  opened(socket: Socket): void
  /** Stops counting a connection while its request is served, because the client waits for the server then. */
  serving(socket: Socket, response: ServerResponse): void
  /** Ends the connections that have sent nothing yet. */
  endSilent(): void
}

/**
 * Bounds the connections of one address that wait for their client. A connection beyond the limit ends the connections
 * that have waited longest. Active requests are therefore served beside any number of stalled connections, even if all
 * of them come through one proxy.
 */
export function boundWaitingConnections({ perAddress, patienceMs }: WaitingLimits): WaitingConnections {
  /** The waiting connections by address, with the start of the wait, longest wait first. */
  const waiting = new Map<string, Map<Socket, number>>()
  const addressOf = new WeakMap<Socket, string>()

  const leave = (socket: Socket) => {
    const address = addressOf.get(socket) ?? ''
    const same = waiting.get(address)
    same?.delete(socket)
    if (same?.size === 0) waiting.delete(address)
  }

  const enter = (socket: Socket) => {
    const address = addressOf.get(socket)
    if (address === undefined || socket.destroyed) return
    const same = waiting.get(address) ?? new Map<Socket, number>()
    const now = performance.now()
    waiting.set(address, same)
    same.set(socket, now)
    for (const [longest, since] of same) {
      if (same.size <= perAddress || (now - since < patienceMs && same.size <= perAddress * burstFactor)) return
      leave(longest)
      longest.destroy()
    }
  }

  return {
    opened(socket) {
      addressOf.set(socket, clientNetwork(socket.remoteAddress ?? ''))
      socket.once('close', () => leave(socket))
      enter(socket)
    },
    serving(socket, response) {
      leave(socket)
      response.once('close', () => enter(socket))
    },
    endSilent() {
      for (const same of waiting.values()) {
        for (const socket of same.keys()) if (socket.bytesRead === 0) socket.destroy()
      }
    },
  }
}
