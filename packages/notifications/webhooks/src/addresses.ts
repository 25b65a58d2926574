import { BlockList, isIP } from 'node:net'
import type { Network } from '@sluice/config'

/** Decides which addresses webhooks may reach. */
export type AddressRule = (address: string) => boolean

/**
 * IPv4 networks that are not public: this host, private, shared by carriers (100.64.0.0/10), loopback, link-local with
 * the metadata services, protocol assignments, documentation, relays of 6to4, benchmarks, multicast and reserved. The
 * single address is the metadata service of one cloud, which lies in a public network.
 */
const nonPublicV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** The only IPv6 network with public addresses. Loopback, private, link-local and IPv4-mapped addresses are outside. */
const globalV6 = '2000::/3'

/** Parts of {@link globalV6} that are not public: protocol assignments with Teredo, documentation, 6to4. */
const nonPublicV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

/** Translators between IPv6 and IPv4 put the IPv4 address into the last 32 bits of these addresses (RFC 6052). */
const translatedV4 = '64:ff9b::/96'

const nonPublic = listOf([...nonPublicV4, ...nonPublicV6])
const publicV6 = listOf([globalV6])
const translated = listOf([translatedV4])

/**
 * Opens the rule for the addresses that webhooks may reach (second-day.md §5, Addresses): public addresses, and those
 * in the given networks. It refuses texts that are not IP addresses.
 */
export function openAddressRule(networks: readonly Network[] = []): AddressRule {
  const exceptions = new BlockList()
  for (const { address, prefix, family } of networks) exceptions.addSubnet(address, prefix, family)
  return (address) => {
    const family = familyOf(address)
    return family !== undefined && (isPublic(address, family) || exceptions.check(address, family))
  }
}

function isPublic(address: string, family: 'ipv4' | 'ipv6'): boolean {
  if (family === 'ipv4') return !nonPublic.check(address, family)
  if (translated.check(address, family)) return !nonPublic.check(embeddedV4(address), 'ipv4')
  return publicV6.check(address, family) && !nonPublic.check(address, family)
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  // A zone names an interface of this machine, so such an address is never public.
  const version = address.includes('%') ? 0 : isIP(address)
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined
}

/** Returns the IPv4 address in the last 32 bits of an IPv6 address. */
function embeddedV4(address: string): string {
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  // The URL parser writes every address in its shortest form, in which only the last two groups matter here.
  const [high = '0', low = '0'] = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2)
  const bits = Number.parseInt(high || '0', 16) * 2 ** 16 + Number.parseInt(low || '0', 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.')
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/')
    list.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}
