import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../environment/free-port.ts'
import { endChild, killAtExit } from '../environment/program.ts'
import { connectWhenReady, type RedisLogin } from '../environment/redis.ts'
import { until } from '../environment/wait.ts'

export interface Server {
  port: number
  kill(): Promise<void>
}

/** Starts a redis-server with the lines of a configuration file, and waits until it answers on `port`. */
export async function startServer(
  folder: string,
  { port, lines, mode = [], client = {} }: { port: number; lines: string[]; mode?: string[]; client?: RedisLogin },
): Promise<Server> {
  const path = join(folder, `redis-${port}.conf`)
  await writeFile(path, `${['bind 127.0.0.1', `dir ${folder}`, ...lines].join('\n')}\n`)
  const child = spawn('redis-server', [path, ...mode], { stdio: 'ignore' })
  killAtExit(child)
  const redis = await connectWhenReady({ ...client, host: '127.0.0.1', port })
  redis.disconnect()
  return { port, kill: () => endChild(child) }
}

/** A primary, two replicas, and three Sentinels that watch them. */
export interface SentinelTrio {
  /** Addresses of the Sentinels, as in `REDIS_SENTINELS`. */
  sentinels: string
  /** Returns the port of the server that the Sentinels call the primary. */
  primaryPort(): Promise<number>
  killPrimary(): Promise<void>
  close(): Promise<void>
}

/** Starts servers and Sentinels with their files in `folder`. All of them demand the password `secret`. */
export async function startSentinelTrio(folder: string, name: string): Promise<SentinelTrio> {
  const login = ['requirepass secret', 'masterauth secret', 'save ""']
  const client = { password: 'secret' }
  const servers: Server[] = []
  for (let number = 0; number < 3; number++) {
    const port = await freePort()
    const [primary] = servers
    const replica = primary === undefined ? [] : [`replicaof 127.0.0.1 ${primary.port}`]
    servers.push(await startServer(folder, { port, lines: [`port ${port}`, ...login, ...replica], client }))
  }
  const sentinels: Server[] = []
  for (let number = 0; number < 3; number++) {
    const port = await freePort()
    const lines = [
      `port ${port}`,
      `sentinel monitor ${name} 127.0.0.1 ${servers[0]?.port} 2`,
      `sentinel auth-pass ${name} secret`,
      `sentinel down-after-milliseconds ${name} 1000`,
      `sentinel failover-timeout ${name} 5000`,
    ]
    sentinels.push(await startServer(folder, { port, lines, mode: ['--sentinel'] }))
  }
  const observer = new Redis({ host: '127.0.0.1', port: sentinels[0]?.port ?? 0 })
  const known = async (kind: 'replicas' | 'sentinels') => {
    const found = await observer.call('SENTINEL', kind, name)
    return Array.isArray(found) ? found.length : 0
  }
  await until(
    'the Sentinels to know everybody',
    async () => (await known('replicas')) === 2 && (await known('sentinels')) === 2,
  )
  const primaryPort = async () => {
    const found = await observer.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
    return Array.isArray(found) ? Number(found[1]) : 0
  }
  return {
    sentinels: sentinels.map(({ port }) => `127.0.0.1:${port}`).join(','),
    primaryPort,
    async killPrimary() {
      const port = await primaryPort()
      await servers.find((server) => server.port === port)?.kill()
    },
    async close() {
      observer.disconnect()
      await Promise.all([...sentinels, ...servers].map((server) => server.kill()))
    },
  }
}
