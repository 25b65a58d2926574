import type { Cluster, ServerName } from './cluster.ts'
import { serverNames } from './cluster.ts'
import type { Host } from './namespaces.ts'

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
