import { z } from 'zod'
import { importSources, importStates, importView } from './import.ts'
import type { JsonObject } from './json-object.ts'
import { limits } from './limits.ts'
import type { ImportSource, ImportState } from './wire-types.ts'

/** A checked request for a page of an app's imports. */
export interface ImportListRequest {
  state?: ImportState
  source?: ImportSource
  /** Maximum number of imports of the page. */
  limit: number
  /** The page has only imports that are older than the import with this sequence number. */
  before?: number
}

/** Answer of `GET /v3/user_profiles/bulk_import` (an extension). */
export const importList = z.object({
  imports: z.array(importView),
  next_cursor: z.string().nullable().meta({ description: 'For the next page; null on the last page.' }),
})

/**
 * Checks the query of a list of imports. An empty parameter counts as absent. Unknown parameters are ignored.
 *
 * Returns the request, or a message for each invalid parameter.
 *
 * @example
 * ```ts
 * parseImportList({ state: 'failed', limit: '5' }) // → {"request": {"state": "failed", "limit": 5}}
 * parseImportList({ limit: '0' }) // → {"messages": ["limit must be a whole number from 1 to 100"]}
 * ```
 */
export function parseImportList(query: JsonObject): { request: ImportListRequest } | { messages: string[] } {
  const messages: string[] = []
  const read = <Value>(name: string, parse: (text: string) => Value | undefined, rule: string): Value | undefined => {
    const given = query[name]
    if (given === undefined || given === '') return undefined
    const value = typeof given === 'string' ? parse(given) : undefined
    if (value === undefined) messages.push(`${name} ${rule}`)
    return value
  }
  const oneOf = <Value extends string>(values: readonly Value[]) => ({
    parse: (text: string) => values.find((value) => value === text),
    rule: `must be one of ${values.join(', ')}`,
  })
  const [states, sources] = [oneOf(importStates), oneOf(importSources)]
  const state = read('state', states.parse, states.rule)
  const source = read('source', sources.parse, sources.rule)
  const limit = read('limit', parseLimit, `must be a whole number from 1 to ${limits.importsPerPage}`)
  const before = read('cursor', parseCursor, 'is not a cursor of this list')
  if (messages.length > 0) return { messages }
  return {
    request: {
      ...(state !== undefined && { state }),
      ...(source !== undefined && { source }),
      limit: limit ?? limits.importsPerPageByDefault,
      ...(before !== undefined && { before }),
    },
  }
}

function parseLimit(text: string): number | undefined {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= limits.importsPerPage ? limit : undefined
}

/** Bytes of a cursor: a sequence number of 8 bytes. */
const cursorBytes = 8

/**
 * Returns the cursor of the page that follows the import with this number in the import order. Imports that are added
 * later do not move the page.
 *
 * @example
 * ```ts
 * importCursor(258) // → "AAAAAAAAAQI"
 * ```
 */
export function importCursor(sequenceNumber: number): string {
  const bytes = Buffer.alloc(cursorBytes)
  bytes.writeBigUInt64BE(BigInt(sequenceNumber))
  return bytes.toString('base64url')
}

function parseCursor(text: string): number | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== cursorBytes || bytes.toString('base64url') !== text) return undefined
  const number = Number(bytes.readBigUInt64BE())
  return Number.isSafeInteger(number) ? number : undefined
}
