import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { clientNetwork, keepForwardedAddresses } from './network.ts'

test.each([
  ['an IPv4 address is itself', '192.0.2.1', '192.0.2.1'],
  ['an IPv4-mapped IPv6 address is the IPv4 address', '::ffff:192.0.2.1', '192.0.2.1'],
  ['an IPv4-mapped address in hexadecimal is the IPv4 address', '::FFFF:c000:0201', '192.0.2.1'],
  ['an IPv6 address counts as its /64', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['the notation of an IPv6 address does not matter', '2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['an IPv6 address may omit zeros', '2001:db8::5', '2001:db8:0:0::/64'],
  ['an IPv6 address may have a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['the loopback address counts as its /64', '::1', '0:0:0:0::/64'],
  ['a text that is not an address stays unchanged', 'unknown', 'unknown'],
])('clients are counted by network: %s', (_, address, network) => {
  expect(clientNetwork(address)).toBe(network)
})

test.each([
  ['192.0.2.1, 192.0.2.2', '192.0.2.1, 192.0.2.2'],
  ['192.0.2.1:4711,[2001:db8::1]:80 , [::1], 2001:db8::2', '192.0.2.1, 2001:db8::1, ::1, 2001:db8::2'],
  ['192.0.2.1, unknown, 192.0.2.2', '192.0.2.2'],
  ['192.0.2.1, fe80::1%eth0', undefined],
  ['192.0.2.1, ', undefined],
  ['192.0.2.300', undefined],
  ['[192.0.2.1', undefined],
  [undefined, undefined],
])('of X-Forwarded-For: %s only the last addresses are kept', (text, kept) => {
  const headers = text === undefined ? {} : { 'x-forwarded-for': text }
  keepForwardedAddresses({ headers } as IncomingMessage)
  expect(headers).toEqual(kept === undefined ? {} : { 'x-forwarded-for': kept })
})
