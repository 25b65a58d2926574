import { isIP } from 'node:net'
import { z } from 'zod'

/** A duration: `30` and `30s` are seconds; `500ms`, `5m`, `2h`, `7d` have their own unit. Returns milliseconds. */
const duration = z.string().transform((text, context) => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text)
  if (match === null) {
    context.addIssue({ code: 'custom', message: 'must be a duration such as 30, 30s, 500ms or 5m' })
    return z.NEVER
  }
  const milliseconds = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
  return Number(match[1]) * milliseconds[(match[2] ?? 's') as keyof typeof milliseconds]
})

/** Returns a schema for durations from `least` to `most`, which are text such as `1s`. Its output is in ms. */
export function durationBetween(least: string, most: string) {
  const [from, to] = [duration.parse(least), duration.parse(most)]
  return duration.refine((value) => value >= from && value <= to, `must be from ${least} to ${most}`)
}

/** A rate limit: `1000/60s` is 1000 requests per minute. Returns the count and the window in ms. */
export const rateLimit = z.string().transform((text, context) => {
  const [count = '', window = ''] = text.split('/', 2)
  const milliseconds = duration.safeParse(window).data ?? 0
  if (
    !/^[1-9]\d{0,8}$/.test(count) ||
    text !== `${count}/${window}` ||
    milliseconds < 1000 ||
    milliseconds % 1000 > 0
  ) {
    context.addIssue({ code: 'custom', message: 'must be a rate in whole seconds such as 1000/60s or 10/10m' })
    return z.NEVER
  }
  return { requests: Number(count), windowMs: milliseconds }
})

/** A size: `4294967296` and `4294967296B` are bytes; `100MiB`, `4GiB`, `1GB` have their own unit. Returns bytes. */
export const size = z.string().transform((text, context) => {
  const match = /^(\d+)\s?(B|KiB|MiB|GiB|KB|MB|GB)?$/.exec(text)
  if (match === null) {
    context.addIssue({ code: 'custom', message: 'must be a size such as 4294967296, 100MiB or 4GiB' })
    return z.NEVER
  }
  const bytes = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, KB: 1e3, MB: 1e6, GB: 1e9 }
  return Number(match[1]) * bytes[(match[2] ?? 'B') as keyof typeof bytes]
})

/** Returns a schema for a {@link size} of at most `most`, which is text such as `5GB`. */
export function sizeUpTo(most: string) {
  const limit = size.parse(most)
  return size.refine((value) => value <= limit, `must be at most ${most}`)
}

/** Returns a schema for a {@link size} of at least `least`, which is text such as `32MiB`. */
export function sizeFrom(least: string) {
  const limit = size.parse(least)
  return size.refine((value) => value >= limit, `must be at least ${least}`)
}

/** A whole number from `least` to `most`. */
export function wholeNumber(least: number, most: number) {
  return z.string().transform((text, context) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most) {
      context.addIssue({ code: 'custom', message: `must be a whole number from ${least} to ${most}` })
      return z.NEVER
    }
    return value
  })
}

/** Returns a schema for an address with one of these schemes. Its output has no trailing slash. */
export function address(...schemes: string[]) {
  return z.string().transform((text, context) => {
    const scheme = URL.canParse(text) ? new URL(text).protocol.slice(0, -1) : undefined
    if (scheme === undefined || !schemes.includes(scheme)) {
      context.addIssue({ code: 'custom', message: `must be an address that begins with ${schemes.join(':// or ')}://` })
      return z.NEVER
    }
    return text.replace(/\/+$/, '')
  })
}

/** Hosts that are this machine. */
const localHosts = ['localhost', '127.0.0.1', '[::1]']

/** Whether secrets may be sent to an address: by https, or by http on this machine. */
const isSafe = ({ protocol, hostname }: URL) =>
  protocol === 'https:' || (protocol === 'http:' && localHosts.includes(hostname))

/**
 * The issuer of an OpenID Connect provider: an https address, or http on this machine. Keeps a trailing slash, because
 * providers and clients compare issuers character by character.
 */
export const issuer = z.string().refine((text) => {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return isSafe(url) && url.search === '' && url.hash === ''
}, 'must be an https address without query')

/** An address to which secrets are sent: https, or http on this machine. The text is used unchanged. */
export const secretAddress = z
  .string()
  .refine((text) => URL.canParse(text) && isSafe(new URL(text)), 'must be an https address')

/** Returns a schema for one or more addresses as of {@link address}, separated by commas. */
export function addresses(...schemes: string[]) {
  const one = address(...schemes)
  return z.string().transform((text, context) => {
    const results = text.split(',').map((each) => one.safeParse(each.trim()))
    if (!results.every((result) => result.success)) {
      context.addIssue({
        code: 'custom',
        message: `must be one or more addresses that begin with ${schemes.join(':// or ')}://`,
      })
      return z.NEVER
    }
    return results.map(({ data }) => data).join(',')
  })
}

/** Scheme, user with password, hosts, and the rest of an address of Postgres. */
const postgresForm = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s

/** An address of Postgres, with one or several hosts as libpq accepts them, without a trailing slash. */
export const postgresAddress = z.string().transform((text, context) => {
  const [, start = '', hosts = '', rest = ''] = postgresForm.exec(text) ?? []
  if (start === '' || !hosts.split(',').every((host) => URL.canParse(`${start}${host}${rest}`))) {
    context.addIssue({
      code: 'custom',
      message: 'must be an address that begins with postgres:// or postgresql://',
    })
    return z.NEVER
  }
  const target = new URLSearchParams(rest.replace(/^[^?]*/, '')).get('target_session_attrs') ?? 'any'
  if (!['any', 'read-write', 'primary'].includes(target)) {
    context.addIssue({ code: 'custom', message: 'must have the target_session_attrs any, read-write or primary' })
    return z.NEVER
  }
  return text.replace(/\/+$/, '')
})

/**
 * Sentinels of Redis, separated by commas. Each is a `host:port`, or an address of the Sentinel such as
 * `redis://host:port` or `rediss://host:port`. Returns an array of such addresses.
 */
export const sentinels = z.string().transform((text, context) => {
  const one = address('redis', 'rediss')
  const results = text
    .split(',')
    .map((each) => one.safeParse(each.includes('://') ? each.trim() : `redis://${each.trim()}`))
  if (!results.every((result) => result.success && new URL(result.data).hostname !== '')) {
    context.addIssue({ code: 'custom', message: 'must be hosts such as one:26379,two:26379' })
    return z.NEVER
  }
  return results.map(({ data = '' }) => data)
})

/** Addresses by number: `0=http://one:3000,1=http://two:3000`. Returns a Map. */
export const numberedAddresses = z.string().transform((text, context) => {
  const one = address('http', 'https')
  const entries = text.split(',').map((entry) => {
    const [, number, rest = ''] = /^(0|[1-9]\d{0,2})=(.*)$/.exec(entry.trim()) ?? []
    return [Number(number), one.safeParse(rest).data] as const
  })
  const found = new Map(entries.filter((entry): entry is [number, string] => entry[1] !== undefined))
  if (found.size < entries.length) {
    context.addIssue({
      code: 'custom',
      message: 'must be numbered addresses such as 0=http://one:3000,1=http://two:3000',
    })
    return z.NEVER
  }
  return found
})

/** `true` or `false`. */
export const yesOrNo = z.enum(['true', 'false']).transform((text) => text === 'true')

/** Returns a schema for names separated by commas, all of them in `allowed`. Its output is an array. */
export function listOf<const Name extends string>(allowed: readonly Name[]) {
  return z.string().transform((text, context) => {
    const names = text.split(',').map((name) => name.trim())
    if (!names.every((name): name is Name => allowed.some((known) => known === name))) {
      context.addIssue({ code: 'custom', message: `must be a list of: ${allowed.join(', ')}` })
      return z.NEVER
    }
    return names
  })
}

/** A time zone by its IANA name, such as `Europe/Berlin`. */
export const timeZone = z.string().refine((name) => {
  try {
    // `Intl` also accepts a bare offset, which has no daylight saving time.
    return !/^[+-]/.test(name) && new Intl.DateTimeFormat('en-US', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}, 'must be an IANA time zone such as UTC or Europe/Berlin')

/** Keys of AES-256 in base64, separated by commas. Returns a Buffer of 32 bytes for each. */
export const encryptionKeys = z.string().transform((text, context) => {
  const keys = text.split(',').map((key) => key.trim())
  if (!keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))) {
    context.addIssue({
      code: 'custom',
      message: 'must be keys of 32 bytes in base64, such as openssl rand -base64 32 prints',
    })
    return z.NEVER
  }
  return keys.map((key) => Buffer.from(key, 'base64'))
})

/** A network of IP addresses. */
export interface Network {
  address: string
  /** Number of leading bits that all addresses of the network share. */
  prefix: number
  family: 'ipv4' | 'ipv6'
}

/**
 * Networks in CIDR notation, separated by commas; the output is an array. A bare address is a network of one address.
 */
export const networks = z.string().transform((text, context) => {
  const found = text.split(',').map((each) => network(each.trim()))
  if (!found.every((each) => each !== undefined)) {
    context.addIssue({ code: 'custom', message: 'must be networks such as 10.0.0.0/8,fd00::/8' })
    return z.NEVER
  }
  return found
})

/** The names that Fastify accepts for the networks of this machine and for private networks. */
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal']

/** Networks as in {@link networks}, or names of {@link namedNetworks}. Returns an array of texts. */
export const proxies = z.string().transform((text, context) => {
  const found = text.split(',').map((each) => each.trim())
  if (!found.every((each) => namedNetworks.includes(each) || network(each) !== undefined)) {
    context.addIssue({
      code: 'custom',
      message: `must be networks such as 10.0.0.0/8,fd00::/8, or ${namedNetworks.join(', ')}`,
    })
    return z.NEVER
  }
  return found
})

function network(text: string): Network | undefined {
  const [, address = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return undefined
  const bits = version === 4 ? 32 : 128
  const prefix = digits === undefined ? bits : Number(digits)
  return prefix > bits ? undefined : { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
}
