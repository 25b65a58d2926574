import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The range of free ports. Systems assign higher ports to outgoing connections. No outgoing connection can therefore
 * occupy a chosen port before the server listens on it.
 */
const [lowest, highest] = [20_000, 32_000]

/** Returns a TCP port that is free on `host` at this moment. Throws the system's error if the host cannot be bound. */
export async function freePort(host: string): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest)
    if (await isFree(host, port)) return port
  }
}

/**
 * Checks whether `port` (1 to 65535) can be bound on `host`. Throws if it cannot be bound for another reason than being
 * in use.
 */
export async function isFree(host: string, port: number): Promise<boolean> {
  try {
    const server = await listen(host, port)
    server.close()
    await once(server, 'close')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false
    throw error
  }
}

async function listen(host: string, port: number) {
  const server = createServer()
  server.listen({ host, port, exclusive: true })
  await once(server, 'listening')
  return server
}

/** Returns the URL by which this machine reaches a server that is bound to `host`, such as `http://[::1]:3000`. */
export function addressOf(scheme: string, host: string, port: number): string {
  const loopback = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  return `${scheme}://${loopback.includes(':') ? `[${loopback}]` : loopback}:${port}`
}
