import { isIP } from 'node:net'
import { limits } from '@sluice/contract'
import type { AddressRule } from './addresses.ts'

/** Which addresses of endpoints are accepted. */
export interface UrlRule {
  allowsHttp: boolean
  isAllowed: AddressRule
}

/**
 * Checks the URL of an endpoint (second-day.md §5, URLs). A host name is resolved and checked only before each attempt.
 * An IP address in the URL is checked here as well.
 *
 * Returns the URL in its normal form, or why it is refused.
 */
export function checkUrl(text: string, rule: UrlRule): { url: string } | { problem: string } {
  if (text.length > limits.webhookUrlLength)
    return { problem: `the URL must have at most ${limits.webhookUrlLength} characters` }
  if (!URL.canParse(text)) return { problem: 'the URL is not valid' }
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { problem: 'the URL must begin with https://' }
  if (url.protocol === 'http:' && !rule.allowsHttp)
    return { problem: 'the URL must begin with https://: WEBHOOK_ALLOW_HTTP is not true' }
  if (url.username !== '' || url.password !== '')
    return { problem: 'the URL must contain no user and no password: deliveries are signed instead' }
  const host = hostOf(url)
  const known = isIP(host) !== 0 ? [host] : isLocalhost(host) ? [...loopbacks] : undefined
  if (known !== undefined && !known.some(rule.isAllowed)) return { problem: notPublic }
  url.hash = ''
  return { url: url.href }
}

/** Why a host is refused. The addresses are not named: they would tell strangers what is in this network. */
const notPublic = 'the host has an address that is not public, and WEBHOOK_ALLOW_NETWORKS does not name it'

/** The addresses of `localhost`, which name servers do not know (RFC 6761). */
export const loopbacks = ['127.0.0.1', '::1'] as const

/** Whether a name stands for this machine. */
export function isLocalhost(host: string): boolean {
  return /^(?:.*\.)?localhost\.?$/.test(host)
}

/** Returns the host of a URL; an IPv6 address has no brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}
