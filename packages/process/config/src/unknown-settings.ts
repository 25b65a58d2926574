import { closeName } from '@sluice/contract/close-names'
import { isSecret } from './read.ts'
import type { Environment } from './secret-files.ts'
import { settings } from './settings.ts'

/** A variable of the environment that looks like a setting but is not one. */
interface UnknownSetting {
  name: string
  /** The setting that it probably means. */
  nearest: string | undefined
}

const names = Object.keys(settings)
const files = names.filter(isSecret).map((name) => `${name}_FILE`)

/**
 * `npm start` reads it, and its apps have the same environment. No other setting of `npm start` shares a prefix with
 * ours.
 */
const ofLocalStack = 'SMTP_PORT'

const beginningOf = (name: string) => /^[A-Z0-9]+_/.exec(name)?.[0]

/** The beginnings that several settings share, such as `S3_`. */
const beginnings = names.map(beginningOf).filter((each, index, all) => each && all.indexOf(each) !== index)

/** Shorter names are close to too many others: `APP_PORT` belongs to somebody else. */
const shortestCompared = 9

/** What Kubernetes and Docker set for each service that a container can reach, such as `REDIS_SERVICE_HOST`. */
const ofService = /_SERVICE_(?:HOST|PORT)|_PORT_\d+_(?:TCP|UDP)|^(?:tcp|udp):/

/**
 * Returns the variables that begin like a setting, or are spelt nearly like one, but are none. Empty variables count as
 * unset. Only the API knows the limits of its functions (`RATE_LIMIT_…`), and passes them as `own`. Without them, a
 * limit is returned only if it is spelt nearly like another one.
 */
export function unknownSettings(environment: Environment, own: readonly string[] = []): UnknownSetting[] {
  const all = [...names, ...own]
  const known = new Set([...all, ...files, ofLocalStack])
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!value || known.has(name) || ofService.test(name) || ofService.test(value)) return []
    const isOurs = beginnings.includes(beginningOf(name)) && (own.length > 0 || !name.startsWith('RATE_LIMIT_'))
    const nearest = closeName(name, isOurs ? all : all.filter((each) => each.length >= shortestCompared))
    return isOurs || nearest !== undefined ? [{ name, nearest }] : []
  })
}
