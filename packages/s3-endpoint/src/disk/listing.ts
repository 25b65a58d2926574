import type { ListRequest } from '../backend.ts'
import { commonPrefix } from '../protocol/common-prefix.ts'
import { compareKeys } from '../protocol/key-order.ts'

/** An entry of a listing: an object, or the common prefix of several objects. */
export type ListEntry = { kind: 'object' | 'prefix'; name: string }

/**
 * Makes one page of a bucket's keys. The keys must be in the order of their UTF-8 bytes.
 *
 * Keys with the delimiter after the prefix are rolled up into one entry. If more entries follow, `next` is the name of
 * the last entry. A page that starts after `next` continues without gaps or repetitions, even if that entry is a
 * prefix.
 */
export function listPage(
  keys: Iterable<string>,
  request: ListRequest,
): { entries: ListEntry[]; next: string | undefined } {
  const entries: ListEntry[] = []
  for (const key of keys) {
    if (!key.startsWith(request.prefix) || compareKeys(key, request.after) <= 0) continue
    const entry = entryOf(key, request)
    const last = entries.at(-1)?.name
    if (entry.kind === 'prefix' && (entry.name === last || entry.name === request.after)) continue
    if (entries.length === request.limit) return { entries, next: last }
    entries.push(entry)
  }
  return { entries, next: undefined }
}

function entryOf(key: string, request: ListRequest): ListEntry {
  const name = commonPrefix(key, request)
  return name === undefined ? { kind: 'object', name: key } : { kind: 'prefix', name }
}
