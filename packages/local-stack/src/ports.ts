import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that systems give to outgoing connections: what is free stays so until it is listened on, but for other servers. */
const [lowest, highest] = [20_000, 32_000]

/** Gives a TCP port that is free on `host` right now. Throws the system's error where the host can't be bound. */
export async function freePort(host: string): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest)
    if (await isFree(host, port)) return port
  }
}

/** Tells whether `port` (1 to 65535) can be bound on `host`. Throws for any other reason than the port being taken. */
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

/** Gives the address under which a server bound to `host` is reached from this machine, such as `http://[::1]:3000`. */
export function addressOf(scheme: string, host: string, port: number): string {
  const loopback = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  return `${scheme}://${loopback.includes(':') ? `[${loopback}]` : loopback}:${port}`
}
