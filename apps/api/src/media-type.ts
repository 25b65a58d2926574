import { MIMEType } from 'node:util'

/**
 * Reads a Content-Type header.
 *
 * Gives the type in lower case without its parameters, and whether its charset, if it names one, is that of JSON and of
 * the service's files. Gives undefined where there is none or it is malformed.
 */
export function readMediaType(header = ''): { type: string; isUtf8: boolean } | undefined {
  try {
    const { essence, params } = new MIMEType(header)
    return { type: essence, isUtf8: utf8.has(params.get('charset')?.toLowerCase() ?? 'utf-8') }
  } catch {
    return undefined
  }
}

/** ASCII is a part of UTF-8. */
const utf8 = new Set(['utf-8', 'utf8', 'us-ascii'])
