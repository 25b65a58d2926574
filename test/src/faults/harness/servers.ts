import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RunningPostgres, startPostgres } from '@sluice/local-stack'
import { startRedis } from '../../environment/redis.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/** A server behind a proxy, which can be started anew. */
interface RestartableServer {
  proxy: TcpProxy
  /** Its address through the proxy, for the apps. */
  url: string
  close(): Promise<void>
}

/** Postgres behind a proxy. */
export interface FaultyPostgres extends RestartableServer {
  /** Its address past the proxy, for the tests. */
  directUrl: string
  dataDirectory: string
  /** `fast` ends connections and writes everything down; `immediate` is a crash, from which the next start recovers. */
  restart(mode: 'fast' | 'immediate'): Promise<void>
}

/** Starts a Postgres of its own, in a folder that is made. Nothing here has to survive a power failure. */
export async function startFaultyPostgres(
  folder: string,
  further: Readonly<Record<string, string>> = {},
): Promise<FaultyPostgres> {
  const dataDirectory = join(folder, 'postgres')
  const settings = { fsync: 'off', full_page_writes: 'off', shared_buffers: '32MB', ...further }
  let server: RunningPostgres = await startPostgres({ dataDirectory, port: 0, settings })
  const { port, url: directUrl } = server
  const proxy = await startTcpProxy(() => port)
  return {
    proxy,
    url: throughProxy(directUrl, proxy),
    directUrl,
    dataDirectory,
    async restart(mode) {
      if (mode === 'fast') await server.stop()
      else {
        const [pid] = (await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8')).split('\n')
        process.kill(Number(pid), 'SIGQUIT')
        await server.exited
      }
      server = await startPostgres({ dataDirectory, port, settings })
    },
    async close() {
      await proxy.close()
      await server.stop()
    },
  }
}

/** Redis behind a proxy. */
export interface FaultyRedis extends RestartableServer {
  /** Starts an empty one in its place: everything in it is forgotten. */
  restart(): Promise<void>
}

/** Starts a Redis of its own, without persistence. Throws where there is no redis-server. */
export async function startFaultyRedis(folder: string): Promise<FaultyRedis> {
  let server = await startOwnRedis(folder)
  const proxy = await startTcpProxy(() => Number(new URL(server.url).port))
  return {
    proxy,
    url: throughProxy(server.url, proxy),
    async restart() {
      await server.stop()
      server = await startOwnRedis(folder)
      proxy.reset()
    },
    async close() {
      await proxy.close()
      await server.stop()
    },
  }
}

async function startOwnRedis(folder: string) {
  const server = await startRedis(folder, { ofItsOwn: true })
  if (server === undefined) throw new Error('there is no redis-server')
  return server
}

/** The same address, by way of the proxy. */
export function throughProxy(address: string, proxy: TcpProxy): string {
  const url = new URL(address)
  url.port = String(proxy.port)
  return url.href.replace(/\/$/, '')
}
