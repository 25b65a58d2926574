import type { ListRequest } from '../backend.ts'
import { commonPrefix } from '../protocol/common-prefix.ts'
import { compareKeys } from '../protocol/key-order.ts'

/** An entry of a listing: an object, or the common beginning of several. */
export type ListEntry = { kind: 'object' | 'prefix'; name: string }

/**
 * Makes one page out of a bucket's keys, which are in the order of their UTF-8 bytes.
 *
 * Keys that have the delimiter behind the prefix are rolled up into one entry. `next` is the last entry's name where
 * more follow: a page that starts behind it goes on without a gap or a repetition, also when that entry is a prefix.
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
