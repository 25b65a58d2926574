import { type Deployment, startDeployment } from '../../faults/harness/deployment.ts'
import { startTcpProxy } from '../../faults/harness/tcp-proxy.ts'
import { type Host, openNetwork, type TestNetwork } from './namespaces.ts'

/** The servers that workers use, each with the name of the setting for its address. */
const serverSettings = {
  postgres: 'DATABASE_URL',
  redis: 'REDIS_URL',
  storage: 'S3_ENDPOINT',
  mail: 'SMTP_URL',
} as const

export type ServerName = keyof typeof serverSettings
export const serverNames = Object.keys(serverSettings) as ServerName[]

/** A deployment whose two workers are hosts of their own, connected to servers with addresses of their own. */
export interface Cluster {
  deployment: Deployment
  network: TestNetwork
  workers: readonly [Host, Host]
  /** The address of each server, as the workers see it. */
  addresses: Record<ServerName, string>
  close(): Promise<void>
}

/** Starts the cluster: Postgres, Redis, storage, mail and one API on this machine, and two workers as hosts. */
export async function startCluster(): Promise<Cluster> {
  const parts = new AsyncDisposableStack()
  try {
    const network = await openNetwork()
    parts.defer(network.close)
    const settings = { IMPORT_LEASE: '3s', IMPORT_ATTEMPTS: '100', IMPORT_SLICE: '300ms' }
    const deployment = await startDeployment({ workers: 0, queue: 'redis', orderWaitMs: 3_000, env: settings })
    parts.defer(deployment.close)
    const urls: Record<ServerName, string> = {
      postgres: deployment.databaseUrl,
      redis: deployment.redis?.url ?? '',
      storage: deployment.storageSettings.S3_ENDPOINT ?? '',
      mail: `smtp://127.0.0.1:${deployment.mailNetwork.port}`,
    }
    const [addresses, env]: [Record<string, string>, Record<string, string>] = [{}, {}]
    for (const name of serverNames) {
      const url = new URL(urls[name])
      const address = await network.addServerAddress()
      const proxy = await startTcpProxy(() => Number(url.port), 0, address)
      parts.defer(proxy.close)
      addresses[name] = address
      // The setter of `hostname` ignores addresses in URLs of some protocols.
      env[serverSettings[name]] = urls[name].replace(`127.0.0.1:${url.port}`, `${address}:${proxy.port}`)
    }
    const workers = [await network.addHost('worker-1'), await network.addHost('worker-2')] as const
    for (const { within } of workers) await deployment.addWorker({ env, within })
    return {
      deployment,
      network,
      workers,
      addresses: addresses as Record<ServerName, string>,
      close: () => parts.disposeAsync(),
    }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}
