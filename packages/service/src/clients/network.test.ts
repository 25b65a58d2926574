import { expect, test } from 'vitest'
import { clientNetwork } from './network.ts'

test.each([
  ['an IPv4 address is itself', '192.0.2.1', '192.0.2.1'],
  ['an IPv4 address in IPv6 form is the IPv4 address', '::ffff:192.0.2.1', '192.0.2.1'],
  ['likewise in hexadecimal', '::FFFF:c000:0201', '192.0.2.1'],
  ['an IPv6 address counts with its /64', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['however it is written', '2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['with zeros within', '2001:db8::5', '2001:db8:0:0::/64'],
  ['with a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['the loopback address', '::1', '0:0:0:0::/64'],
  ['what is no address counts as it stands', 'unknown', 'unknown'],
])('%s', (_, address, network) => {
  expect(clientNetwork(address)).toBe(network)
})
