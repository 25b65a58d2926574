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

type ServerName = keyof typeof serverSettings
const serverNames = Object.keys(serverSettings) as ServerName[]

/** A deployment whose two workers are hosts of their own, connected to servers with addresses of their own. */
interface Cluster {
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

export interface NetworkFault {
  name: string
  /** The kernel must be able to delay packets. */
  needsDelay?: boolean
  begin(cluster: Cluster): Promise<void>
}

/** Which packets between a worker and a server are lost. */
const directions = {
  'packets to it are lost': ['OUTPUT -d'],
  'packets from it are lost': ['INPUT -s'],
  'packets in both directions are lost': ['OUTPUT -d', 'INPUT -s'],
} as const

/** Drops packets without an answer, so that connections stay half-open. */
async function drop(worker: Host, rules: readonly string[], address: string): Promise<void> {
  for (const rule of rules) await worker.run(`iptables -w -A ${rule} ${address} -j DROP`)
}

const partitions: NetworkFault[] = serverNames.flatMap((server) =>
  Object.entries(directions).map(([name, rules]) => ({
    name: `a worker and ${server}: ${name}`,
    begin: ({ workers: [worker], addresses }) => drop(worker, rules, addresses[server]),
  })),
)

/** Different partitions of the two workers at once: no server is out of reach for all. */
function asymmetric(lostByFirst: ServerName, lostBySecond: ServerName): NetworkFault {
  return {
    name: `one worker without ${lostByFirst}, the other one without answers of ${lostBySecond}`,
    async begin({ workers: [first, second], addresses }) {
      await drop(first, directions['packets to it are lost'], addresses[lostByFirst])
      await drop(second, directions['packets from it are lost'], addresses[lostBySecond])
    },
  }
}

const loss: NetworkFault = {
  name: '1 % of all packets are lost',
  async begin({ workers }) {
    for (const worker of workers) {
      for (const chain of ['INPUT', 'OUTPUT']) {
        await worker.run(`iptables -w -A ${chain} -m statistic --mode random --probability 0.01 -j DROP`)
      }
    }
  },
}

const jitter: NetworkFault = {
  name: '50 ms of jitter',
  needsDelay: true,
  begin: (cluster) => shapeAll(cluster, 'netem delay 50ms 50ms'),
}

const bandwidth: NetworkFault = {
  name: 'a bandwidth of 10 MB/s',
  begin: (cluster) => shapeAll(cluster, 'tbf rate 80mbit burst 64kb latency 100ms'),
}

async function shapeAll({ workers }: Cluster, discipline: string | undefined): Promise<void> {
  for (const worker of workers) await worker.shape(discipline)
}

export const networkFaults: readonly NetworkFault[] = [
  ...partitions,
  asymmetric('storage', 'postgres'),
  asymmetric('redis', 'storage'),
  ...[loss, jitter, bandwidth],
]

/** Ends all faults. */
export async function endFaults(cluster: Cluster): Promise<void> {
  for (const worker of cluster.workers) await worker.run('iptables -w -F')
  await shapeAll(cluster, undefined)
}
