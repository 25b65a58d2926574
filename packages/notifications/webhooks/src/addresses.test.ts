import { readSettings } from '@sluice/config'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openAddressRule } from './addresses.ts'

const networksOf = (text: string) =>
  readSettings({ WEBHOOK_ALLOW_NETWORKS: text }, ['WEBHOOK_ALLOW_NETWORKS']).WEBHOOK_ALLOW_NETWORKS

const isAllowed = openAddressRule()

// second-day.md §5, Addresses.
describe('webhooks reach no address that is not public', () => {
  test.each([
    ['this host', '0.0.0.0'],
    ['private', '10.0.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['shared by carriers', '100.64.0.1'],
    ['metadata in a network that carriers share', '100.100.100.200'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['link-local', '169.254.1.1'],
    ['metadata', '169.254.169.254'],
    ['metadata in a public network', '168.63.129.16'],
    ['protocol assignments', '192.0.0.192'],
    ['documentation', '203.0.113.7'],
    ['benchmarks', '198.19.0.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['IPv4-mapped loopback', '::ffff:127.0.0.1'],
    ['IPv4-mapped loopback in hexadecimal', '::ffff:7f00:1'],
    ['IPv4-mapped public', '::ffff:8.8.8.8'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['private', 'fd00:ec2::254'],
    ['multicast', 'ff02::1'],
    ['documentation', '2001:db8::1'],
    ['Teredo', '2001:0:53aa:64c::1'],
    ['6to4 of a private address', '2002:a00:1::1'],
    ['6to4 of a public address', '2002:808:808::1'],
    ['NAT64 of loopback', '64:ff9b::7f00:1'],
    ['NAT64 of metadata, with dots', '64:ff9b::169.254.169.254'],
    ['NAT64 of this host', '64:ff9b::'],
    ['local NAT64', '64:ff9b:1::a00:1'],
    ['no address', 'localhost'],
    ['no address', ''],
    ['no address', '127.1'],
  ])('%s: %s', (_, address) => {
    expect(isAllowed(address)).toBe(false)
  })
})

test.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '192.169.0.1', '2606:4700::1111', '64:ff9b::808:808'])(
  '%s is public',
  (address) => {
    expect(isAllowed(address)).toBe(true)
  },
)

test('networks of WEBHOOK_ALLOW_NETWORKS are exceptions, and their neighbours are not', () => {
  const rule = openAddressRule(networksOf('10.20.0.0/16, ::1,fd00:1::/32'))
  for (const address of ['10.20.255.255', '::1', 'fd00:1::2', '8.8.8.8']) expect(rule(address)).toBe(true)
  for (const address of ['10.21.0.0', '127.0.0.1', 'fd00:2::1']) expect(rule(address)).toBe(false)
})

test('an IPv4 address counts the same whether a translator writes it into IPv6 or not', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(isAllowed(`64:ff9b::${address}`)).toBe(isAllowed(address))
      expect(isAllowed(`::ffff:${address}`)).toBe(false)
    }),
  )
})

test('no IPv6 address outside 2000::/3 is public, apart from translated ones', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const first = Number.parseInt(address.split(':')[0] || '0', 16)
      if (isAllowed(address) && !address.startsWith('64:ff9b:')) expect(first >> 13).toBe(1)
    }),
  )
})
