import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clientNetwork } from './network.ts'

/** How many connections of one address may wait for their client. */
export interface WaitingLimits {
  perAddress: number
  /** A connection that has not waited for so long ends only beyond ten times as many, ms: a burst of clients is no attack. */
  patienceMs: number
}

/** Beyond so many times the limit, also connections end that have not waited for long. */
const burst = 10

/** The connections of a server that wait for their clients, a bounded number for each address. */
export interface WaitingConnections {
  /** Counts a new connection. */
  opened(socket: Socket): void
  /** Does not count a connection while its request is served: then the client waits for the server. */
  serving(socket: Socket, response: ServerResponse): void
}

/**
 * Bounds the connections of one address that wait for their client. One more ends those that have waited longest: requests
 * that move on pass beside any number that do not, also if all of them come through one proxy.
 */
export function boundWaitingConnections({ perAddress, patienceMs }: WaitingLimits): WaitingConnections {
  /** By address, since when they wait, the longest wait first. */
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
      if (same.size <= perAddress || (now - since < patienceMs && same.size <= perAddress * burst)) return
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
  }
}
