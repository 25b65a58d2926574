import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = async (command: string) => {
  const [program = '', ...args] = command.split(' ')
  await promisify(execFile)(program, args)
}

/** The network of the test: a bridge in this machine, and hosts as network namespaces that are connected to it. */
export interface TestNetwork {
  /** Whether the kernel can delay packets (`netem`). Without it, links have no delay. */
  canDelay: boolean
  /** Adds a host with its own interface, addresses and packet filter. */
  addHost(name: string): Promise<Host>
  /** Adds an address of this machine, on which servers can listen. Each server has its own address. */
  addServerAddress(): Promise<string>
  close(): Promise<void>
}

export interface Host {
  /** The command that runs a program on the host. */
  within: readonly string[]
  run(command: string): Promise<void>
  /** Replaces the queueing discipline of the link, in both directions; undefined restores the usual one. */
  shape(discipline: string | undefined): Promise<void>
}

/**
 * Returns why namespaces cannot be made, or undefined if they can. Needs root, `ip`, `tc` and `iptables`, and a kernel
 * with namespaces, bridges and packet filters.
 */
export async function networkProblem(): Promise<string | undefined> {
  const name = `sluice-probe-${process.pid}`
  try {
    await run(`ip netns add ${name}`)
    await run(`ip netns exec ${name} iptables -w -A INPUT -s 10.0.0.1 -j DROP`)
    await run('tc -V')
    return undefined
  } catch (error) {
    return `network namespaces cannot be made: ${String(error).split('\n')[0]}`
  } finally {
    await run(`ip netns del ${name}`).catch(() => {})
  }
}

/** The usual delay of a link, if the kernel can delay packets. */
const usualDelay = 'netem delay 1ms'

/** Makes a network without hosts. Names and addresses contain the process ID, so that networks do not collide. */
export async function openNetwork(): Promise<TestNetwork> {
  const id = process.pid % 60_000
  const prefix = `10.${100 + (id % 100)}.${Math.floor(id / 100) % 250}`
  const bridge = `slb${id}`
  const hosts: string[] = []
  let address = 1
  await run(`ip link add ${bridge} type bridge`)
  await run(`ip addr add ${prefix}.1/24 dev ${bridge}`)
  await run(`ip link set ${bridge} up`)
  const canDelay = await run(`tc qdisc replace dev ${bridge} root ${usualDelay}`).then(
    () => true,
    () => false,
  )
  if (canDelay) await run(`tc qdisc del dev ${bridge} root`)

  return {
    canDelay,
    async addServerAddress() {
      address++
      await run(`ip addr add ${prefix}.${address}/24 dev ${bridge}`)
      return `${prefix}.${address}`
    },
    async addHost(name) {
      address++
      const namespace = `sluice-${id}-${name}`
      const [outside, inside] = [`slo${id}n${address}`, `sli${id}n${address}`]
      await run(`ip netns add ${namespace}`)
      hosts.push(namespace)
      await run(`ip link add ${outside} type veth peer name ${inside}`)
      await run(`ip link set ${outside} master ${bridge} up`)
      await run(`ip link set ${inside} netns ${namespace}`)
      const within = ['ip', 'netns', 'exec', namespace]
      const inHost = (command: string) => run(`${within.join(' ')} ${command}`)
      await inHost(`ip addr add ${prefix}.${address}/24 dev ${inside}`)
      await inHost(`ip link set ${inside} up`)
      await inHost('ip link set lo up')
      const shape = async (discipline: string | undefined) => {
        const wanted = discipline ?? (canDelay ? usualDelay : undefined)
        if (wanted === undefined) {
          await run(`tc qdisc del dev ${outside} root`).catch(() => {})
          await inHost(`tc qdisc del dev ${inside} root`).catch(() => {})
          return
        }
        await run(`tc qdisc replace dev ${outside} root ${wanted}`)
        await inHost(`tc qdisc replace dev ${inside} root ${wanted}`)
      }
      await shape(undefined)
      return { within, run: inHost, shape }
    },
    async close() {
      for (const namespace of hosts) await run(`ip netns del ${namespace}`)
      await run(`ip link del ${bridge}`)
    },
  }
}
