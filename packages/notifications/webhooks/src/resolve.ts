import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { AddressRule } from './addresses.ts'
import { isLocalhost, loopbacks } from './url.ts'

/** Looks up all addresses of a name. An abort of `signal` ends the lookup. Throws if there is no address. */
export type LookUp = (name: string, signal: AbortSignal) => Promise<string[]>

/** How long a name server may take for one answer, ms, and how many times each name server is asked. */
const answerTimeoutMs = 2_500
const askedTimes = 2

/** A connection tries at most this many addresses of a host name. */
const maxAddresses = 8

/**
 * Opens the lookup of names at the name servers of this machine, or at the given ones (`127.0.0.1:53`). Node's own
 * lookup is not used: its threads also decompress files of imports, and a stranger's slow name server would occupy
 * them.
 */
export function openLookUp(servers?: readonly string[]): LookUp {
  return async (name, signal) => {
    const resolver = new Resolver({ timeout: answerTimeoutMs, tries: askedTimes })
    if (servers !== undefined) resolver.setServers(servers)
    return await lookUpAt(resolver, name, signal)
  }
}

async function lookUpAt(resolver: Resolver, name: string, signal: AbortSignal): Promise<string[]> {
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel)
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const failure = answers.find((answer) => answer.status === 'rejected')
    if (found.length === 0) throw failure?.reason ?? new Error('no address')
    return found
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/**
 * The host has no address, or one that webhooks must not reach. One text for both: otherwise it would tell which names
 * exist within the deployment's network.
 */
class HostRefused extends Error {
  override readonly name = 'HostRefused'

  constructor() {
    super('the host has no address, or one that is not public, and WEBHOOK_ALLOW_NETWORKS does not name it')
  }
}

/**
 * Returns the addresses of a host that a connection may use (second-day.md §5, Addresses). Throws {@link HostRefused}
 * if any address is not allowed, since a name with a public and a private address would be an attack. For `localhost`,
 * returns only the allowed addresses.
 */
export async function resolveHost(
  host: string,
  isAllowed: AddressRule,
  lookUp: LookUp,
  signal: AbortSignal,
): Promise<string[]> {
  if (isLocalhost(host)) {
    const own = loopbacks.filter(isAllowed)
    if (own.length === 0) throw new HostRefused()
    return own
  }
  const addresses =
    isIP(host) === 0
      ? await lookUp(host, signal).catch((error: unknown) => {
          throw signal.aborted ? error : new HostRefused()
        })
      : [host]
  if (addresses.length === 0 || !addresses.every(isAllowed)) throw new HostRefused()
  return addresses.slice(0, maxAddresses)
}
