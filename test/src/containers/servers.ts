import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { type RunningInbox, startInbox, startPostgres, startS3Endpoint } from '@sluice/local-stack'
import pg from 'pg'
import { endChild } from '../environment/program.ts'
import { connectWhenReady } from '../environment/redis.ts'
import { openScratch } from '../environment/scratch.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'

/** The servers that the containers reach by the names and ports of compose.yaml. */
export interface Servers extends AsyncDisposable {
  /** Options of `podman run` that make the names known. */
  names: string[]
  inbox: RunningInbox
}

/** Secrets and names that compose.yaml publishes. */
interface Published {
  databaseUrl: string
  accessKeyId: string
  secretAccessKey: string
  bucket: string
}

/**
 * Starts Postgres, Redis, storage and a mail server on this machine, at an address that only the containers' network
 * has. They replace the images of compose.yaml that cannot be fetched.
 */
export async function startServers(host: string, published: Published): Promise<Servers> {
  const parts = new AsyncDisposableStack()
  try {
    const { path: folder } = parts.use(await openScratch('sluice-containers-'))
    await startDatabase(folder, host, published.databaseUrl, parts)
    await startRedisServer(folder, host, parts)
    const storage = await startS3Endpoint({
      ...{ root: join(folder, 'storage'), host, port: 9000, region: 'us-east-1', buckets: [published.bucket] },
      credentials: published,
      onError: (error) => console.error(error),
    })
    parts.defer(() => storage.close())
    const inbox = await startInbox({ host, httpPort: 0, smtpPort: 1025, folder: join(folder, 'mails') })
    parts.defer(() => inbox.close())
    const names = ['postgres', 'redis', 'storage', 'mail'].map((name) => `--add-host=${name}:${host}`)
    return { names, inbox, [Symbol.asyncDispose]: () => parts.disposeAsync() }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

/** Starts the embedded Postgres with the role and the database of compose.yaml, and forwards port 5432 to it. */
async function startDatabase(folder: string, host: string, url: string, parts: AsyncDisposableStack): Promise<void> {
  const settings = { fsync: 'off', shared_buffers: '64MB', max_connections: '200' }
  const server = await startPostgres({ dataDirectory: join(folder, 'postgres'), port: 0, settings })
  parts.defer(server.stop)
  const { username, password } = new URL(url)
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(`alter role ${username} password '${password}'`)
  await client.end()
  const proxy = await startTcpProxy(() => server.port, 5432, host)
  parts.defer(() => proxy.close())
}

async function startRedisServer(folder: string, host: string, parts: AsyncDisposableStack): Promise<void> {
  const options = ['--bind', host, '--port', '6379', '--dir', folder, '--save', '', '--protected-mode', 'no']
  const child = spawn('redis-server', [...options, '--maxmemory-policy', 'noeviction'], { stdio: 'ignore' })
  parts.defer(() => endChild(child))
  const redis = await connectWhenReady({ host, port: 6379 })
  redis.disconnect()
}
