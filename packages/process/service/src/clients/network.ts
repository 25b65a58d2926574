import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'

/**
 * Returns the network by which limits count a client: its IPv4 address, or the /64 of its IPv6 address. A client with
 * one address of a /64 can use all of them.
 */
export function clientNetwork(address: string): string {
  const [bare = ''] = address.split('%')
  if (!isIPv6(bare)) return address
  const groups = groupsOf(bare)
  if (groups.slice(0, 6).join() === '0,0,0,0,0,ffff') return groups.slice(6).flatMap(decimalBytes).join('.')
  return `${groups.slice(0, 4).join(':')}::/64`
}

/**
 * Reduces `X-Forwarded-For` to its last entries that are addresses, without ports. Everything before an entry that is
 * no address is dropped: the proxy that passed on such a text then counts as the client.
 */
export function keepForwardedAddresses({ headers }: IncomingMessage): void {
  const addresses = [headers['x-forwarded-for'] ?? []].flat().join().split(',').map(addressIn)
  const kept = addresses.slice(addresses.lastIndexOf(undefined) + 1)
  if (kept.length > 0) headers['x-forwarded-for'] = kept.join(', ')
  else delete headers['x-forwarded-for']
}

/** Returns the address in an entry such as `192.0.2.1:4711` or `[2001:db8::1]`; undefined if there is none. */
function addressIn(entry: string): string | undefined {
  const text = entry.trim()
  const address = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text)
  const bare = address?.[1] ?? address?.[2] ?? text
  // A zone means something on its own machine only, and may be any text.
  return isIP(bare) !== 0 && !bare.includes('%') ? bare : undefined
}

/** Returns the eight groups of an IPv6 address, in lower case and without leading zeros. */
function groupsOf(address: string): string[] {
  // A URL normalizes an address to its one short form, even if the address ends in the form of IPv4.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const split = (part: string) => (part === '' ? [] : part.split(':'))
  if (tail === undefined) return split(head)
  const [first, last] = [split(head), split(tail)]
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
}

function decimalBytes(group: string): number[] {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 0xff]
}
