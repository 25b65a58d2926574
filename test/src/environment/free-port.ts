import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { freePort as freePortOf } from '@sluice/local-stack'

/** Returns a port of 127.0.0.1 that is free at this moment. Servers that pick their port themselves never get it. */
export const freePort = () => freePortOf('127.0.0.1')

/** Makes a server listen on a port; 0 picks a free one. Returns the port. */
export async function listenOn(server: Server, port = 0, host = '127.0.0.1'): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
