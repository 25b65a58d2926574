import { isIPv6 } from 'node:net'

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
