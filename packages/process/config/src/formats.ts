import { isIP } from 'node:net'
import { z } from 'zod'

/**
 * Returns a schema for the text of a setting. `read` returns its value, or undefined if the text has another form than
 * `message` says.
 */
function parsed<Value>(message: string, read: (text: string) => Value | undefined) {
  return z.string().transform((text, context): Value => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
}

/** A duration: `30` and `30s` are seconds; `500ms`, `5m`, `2h`, `7d` have their own unit. Returns milliseconds. */
const duration = parsed('must be a duration such as 30, 30s, 500ms or 5m', (text) => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text)
  if (match === null) return undefined
  const milliseconds = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
  return Number(match[1]) * milliseconds[(match[2] ?? 's') as keyof typeof milliseconds]
})

/** Returns a schema for durations from `least` to `most`, which are text such as `1s`. Its output is in ms. */
export function durationBetween(least: string, most: string) {
  const [from, to] = [duration.parse(least), duration.parse(most)]
  return duration.refine((value) => value >= from && value <= to, `must be from ${least} to ${most}`)
}

/** Returns a schema as {@link durationBetween}, whose output has the text as it was written as well. */
export function writtenDuration(least: string, most: string) {
  const schema = durationBetween(least, most)
  return parsed(`must be a duration from ${least} to ${most}`, (text) => {
    const { data: ms } = schema.safeParse(text)
    return ms === undefined ? undefined : { ms, text }
  })
}

/** A hundred years. A window of any length would exceed what Postgres stores, for all that it counts with it. */
const longestWindowMs = 36_500 * 86_400_000

/** A rate limit: `1000/60s` is 1000 requests per minute. Returns the count and the window in ms. */
export const rateLimit = parsed('must be a rate in whole seconds such as 1000/60s or 10/10m', (text) => {
  const [count = '', window = ''] = text.split('/', 2)
  const windowMs = duration.safeParse(window).data ?? 0
  if (!/^[1-9]\d{0,8}$/.test(count) || text !== `${count}/${window}`) return undefined
  const isWindow = windowMs >= 1000 && windowMs <= longestWindowMs && windowMs % 1000 === 0
  return isWindow ? { requests: Number(count), windowMs } : undefined
})

/** A size: `4294967296` and `4294967296B` are bytes; `100MiB`, `4GiB`, `1GB` have their own unit. Returns bytes. */
export const size = parsed('must be a size such as 4294967296, 100MiB or 4GiB', (text) => {
  const match = /^(\d+)\s?(B|KiB|MiB|GiB|KB|MB|GB)?$/.exec(text)
  if (match === null) return undefined
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
  return parsed(`must be a whole number from ${least} to ${most}`, (text) => {
    const value = Number(text)
    return /^\d+$/.test(text) && value >= least && value <= most ? value : undefined
  })
}

/**
 * Returns a schema for an address with one of these schemes. Its output has no trailing slash. Refuses capitals in the
 * scheme and white space around the address: a URL may have them, but the text itself is compared and continued.
 */
export function address(...schemes: string[]) {
  return parsed(`must be an address that begins with ${schemes.join(':// or ')}://`, (text) => {
    const isAddress =
      schemes.some((scheme) => text.startsWith(`${scheme}://`)) && URL.canParse(text) && text === text.trim()
    return isAddress ? text.replace(/\/+$/, '') : undefined
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
  return parsed(`must be one or more addresses that begin with ${schemes.join(':// or ')}://`, (text) => {
    const results = text.split(',').map((each) => one.safeParse(each.trim()))
    return results.every(({ success }) => success) ? results.map(({ data }) => data).join(',') : undefined
  })
}

/** Scheme, user with password, hosts, and the rest of an address of Postgres. */
const postgresForm = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s

/** An address of Postgres, with one or several hosts as libpq accepts them, without a trailing slash. */
export const postgresAddress = parsed('must be an address that begins with postgres:// or postgresql://', (text) => {
  const [, start = '', hosts = '', rest = ''] = postgresForm.exec(text) ?? []
  const isAddress = start !== '' && hosts.split(',').every((host) => URL.canParse(`${start}${host}${rest}`))
  return isAddress ? { text, rest } : undefined
})
  .refine(({ rest }) => {
    const target = new URLSearchParams(rest.replace(/^[^?]*/, '')).get('target_session_attrs') ?? 'any'
    return ['any', 'read-write', 'primary'].includes(target)
  }, 'must have the target_session_attrs any, read-write or primary')
  .transform(({ text }) => text.replace(/\/+$/, ''))

/**
 * Sentinels of Redis, separated by commas. Each is a `host:port`, or an address of the Sentinel such as
 * `redis://host:port` or `rediss://host:port`. Returns an array of such addresses.
 */
export const sentinels = parsed('must be hosts such as one:26379,two:26379', (text) => {
  const one = address('redis', 'rediss')
  const results = text
    .split(',')
    .map((each) => one.safeParse(each.includes('://') ? each.trim() : `redis://${each.trim()}`))
  const areHosts = results.every((result) => result.success && new URL(result.data).hostname !== '')
  return areHosts ? results.map(({ data = '' }) => data) : undefined
})

/** Addresses by number, with white space or a comma between: `0=http://one:3000,1=http://two:3000`. Returns a Map. */
export const numberedAddresses = numbered(address('http', 'https'), '0=http://one:3000,1=http://two:3000')

/** Addresses of Postgres by number. Commas stand between the hosts of one address. Returns a Map. */
export const numberedDatabases = numbered(postgresAddress, '0=postgres://one/sluice 1=postgres://two/sluice')

function numbered(one: z.ZodType<string>, example: string) {
  return parsed(`must be numbered addresses such as ${example}`, (text) => {
    const entries = text.split(/[\s,]+(?=\d+=)/).map((entry) => {
      const [, number, rest = ''] = /^(0|[1-9]\d{0,2})=(.*)$/s.exec(entry.trim()) ?? []
      return [Number(number), one.safeParse(rest.trim()).data] as const
    })
    const found = new Map(entries.filter((entry): entry is [number, string] => entry[1] !== undefined))
    return found.size < entries.length ? undefined : found
  })
}

export const trueOrFalse = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true')

/** Returns a schema for names separated by commas, all of them in `allowed`. Its output is an array. */
export function namesAmong<const Name extends string>(allowed: readonly Name[]) {
  return parsed(`must be a list of: ${allowed.join(', ')}`, (text) => {
    const names = text.split(',').map((name) => name.trim())
    return names.every((name): name is Name => allowed.some((known) => known === name)) ? names : undefined
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
export const encryptionKeys = parsed(
  'must be keys of 32 bytes in base64, such as openssl rand -base64 32 prints',
  (text) => {
    const keys = text.split(',').map((key) => key.trim())
    const areKeys = keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))
    return areKeys ? keys.map((key) => Buffer.from(key, 'base64')) : undefined
  },
)

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
export const networks = parsed('must be networks such as 10.0.0.0/8,fd00::/8', (text) => {
  const found = text.split(',').map((each) => network(each.trim()))
  return found.every((each) => each !== undefined) ? found : undefined
})

/** The names that Fastify accepts for the networks of this machine and for private networks. */
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal']

/** Networks as in {@link networks}, or names of {@link namedNetworks}. Returns an array of texts. */
export const proxies = parsed(
  `must be networks such as 10.0.0.0/8,fd00::/8, or ${namedNetworks.join(', ')}`,
  (text) => {
    const found = text.split(',').map((each) => each.trim())
    return found.every((each) => namedNetworks.includes(each) || network(each) !== undefined) ? found : undefined
  },
)

function network(text: string): Network | undefined {
  const [, address = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return undefined
  const bits = version === 4 ? 32 : 128
  const prefix = digits === undefined ? bits : Number(digits)
  return prefix > bits ? undefined : { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
}
