import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from './free-port.ts'
import { endChild, killAtExit } from './program.ts'
import { connectWhenReady } from './redis.ts'
import { until } from './wait.ts'

/** Number of slots of a Redis Cluster. */
const slots = 16_384

/** A Redis Cluster of three nodes, each with a third of the slots. */
export interface RedisCluster {
  /** Addresses of the nodes, separated by commas. */
  urls: string
  empty(): Promise<void>
  stop(): Promise<void>
}

/** Starts a Redis Cluster with its files in `folder`. Throws if there is no redis-server. */
export async function startRedisCluster(folder: string): Promise<RedisCluster> {
  const parts = new AsyncDisposableStack()
  try {
    const nodes = [
      await startNode(folder, 0, parts),
      await startNode(folder, 1, parts),
      await startNode(folder, 2, parts),
    ]
    for (const [index, { redis }] of nodes.entries()) {
      const [first, next] = [index, index + 1].map((third) => String(Math.floor((slots * third) / nodes.length)))
      await redis.call('CLUSTER', 'ADDSLOTSRANGE', first ?? '', String(Number(next) - 1))
      for (const { port, busPort } of nodes) {
        await redis.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort))
      }
    }
    for (const { redis } of nodes) {
      await until('the cluster', async () => String(await redis.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
    }
    return {
      urls: nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
      empty: async () => void (await Promise.all(nodes.map(({ redis }) => redis.flushall()))),
      stop: () => parts.disposeAsync(),
    }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

async function startNode(folder: string, number: number, parts: AsyncDisposableStack) {
  const [port, busPort] = [await freePort(), await freePort()]
  const settings = {
    port,
    bind: '127.0.0.1',
    save: '',
    dir: folder,
    'cluster-enabled': 'yes',
    'cluster-port': busPort,
    'cluster-config-file': `node-${number}.conf`,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = spawn('redis-server', args, { stdio: 'ignore' })
  killAtExit(server)
  await once(server, 'spawn')
  parts.defer(() => endChild(server, 'SIGTERM'))
  const redis = await connectWhenReady({ host: '127.0.0.1', port })
  parts.defer(() => redis.disconnect())
  return { port, busPort, redis }
}
