import type { IncomingHttpHeaders } from 'node:http'
import { MIMEType } from 'node:util'

/**
 * Reads a Content-Type header.
 *
 * Returns the type in lower case without parameters. `isUtf8` is true if the charset is UTF-8, ASCII or absent.
 * Returns undefined if the header is absent or malformed.
 */
export function readMediaType(header = ''): { type: string; isUtf8: boolean } | undefined {
  try {
    const { essence, params } = new MIMEType(header)
    return { type: essence, isUtf8: utf8.has(params.get('charset')?.toLowerCase() ?? 'utf-8') }
  } catch {
    return undefined
  }
}

/** Names of UTF-8, and of ASCII, which is a subset. */
const utf8 = new Set(['utf-8', 'utf8', 'us-ascii'])

/** Whether a body is encoded, for example compressed, according to its headers. */
export function isEncoded({ 'content-encoding': encoding = 'identity' }: IncomingHttpHeaders): boolean {
  return encoding.toLowerCase() !== 'identity'
}
