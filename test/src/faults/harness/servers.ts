import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RunningPostgres, startPostgres } from '@sluice/local-stack'
import { startRedis } from '../../environment/redis.ts'
import type { FakeClock } from './fake-clock.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

interface RestartableServer {
  proxy: TcpProxy
  /** Address through the proxy, for the apps. */
  url: string
  close(): Promise<void>
}

export interface FaultyPostgres extends RestartableServer {
  /** Address that bypasses the proxy, for the tests. */
  directUrl: string
  dataDirectory: string
  /** Undefined if the server has the true clock. */
  clock: FakeClock | undefined
  /** Restarts the server: `fast` is a clean shutdown, `immediate` is a crash from which the next start recovers. */
  restart(mode: 'fast' | 'immediate'): Promise<void>
}

/**
 * Starts a Postgres server with its data below `folder`. The data does not survive a power failure. The server has the
 * given clock, or the true one.
 */
export async function startFaultyPostgres(
  folder: string,
  additionalSettings: Readonly<Record<string, string>> = {},
  clock?: FakeClock,
): Promise<FaultyPostgres> {
  const dataDirectory = join(folder, 'postgres')
  const settings = { fsync: 'off', full_page_writes: 'off', shared_buffers: '32MB', ...additionalSettings }
  const readPid = async () => Number.parseInt(await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8'), 10)
  const start = async (onPort: number) => {
    const started = await startPostgres({
      dataDirectory,
      port: onPort,
      settings,
      environment: clock?.environment ?? {},
    })
    await clock?.forget(await readPid())
    return started
  }
  let server: RunningPostgres = await start(0)
  const { port, url: directUrl } = server
  const proxy = await startTcpProxy(() => port)
  return {
    proxy,
    url: throughProxy(directUrl, proxy),
    directUrl,
    dataDirectory,
    clock,
    async restart(mode) {
      if (mode === 'fast') await server.stop()
      else {
        process.kill(await readPid(), 'SIGQUIT')
        await server.exited
      }
      server = await start(port)
    },
    async close() {
      await proxy.close()
      await server.stop()
    },
  }
}

export interface FaultyRedis extends RestartableServer {
  /** Replaces the server by an empty one, so that all data is lost. */
  restart(): Promise<void>
}

/** Starts a Redis server without persistence. Throws if there is no redis-server. */
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

/** Returns the address with the port of the proxy. */
export function throughProxy(address: string, proxy: TcpProxy): string {
  const url = new URL(address)
  url.port = String(proxy.port)
  return url.href.replace(/\/$/, '')
}
