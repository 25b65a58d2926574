import type { ListRequest } from '../backend.ts'

/** An entry of a listing: an object, or the common prefix of several objects. */
export interface ListEntry {
  kind: 'object' | 'prefix'
  name: string
}

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

/**
 * Returns the common prefix under which a listing shows a key. It ends with the first delimiter that follows the
 * prefix.
 *
 * Returns undefined if there is no such delimiter. The listing then shows the key itself.
 */
export function commonPrefix(key: string, { prefix, delimiter }: Pick<ListRequest, 'prefix' | 'delimiter'>) {
  const found = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
  return found < 0 ? undefined : key.slice(0, found + delimiter.length)
}

/**
 * Compares two keys by their UTF-8 bytes, the order of S3's listings. Returns a negative number, 0 or a positive
 * number.
 *
 * JavaScript compares UTF-16 units, and would put characters above U+FFFF before U+E000 to U+FFFF.
 */
export function compareKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index += 1) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index))
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/**
 * Returns the rank of a UTF-16 code unit. Surrogates, which encode characters above U+FFFF, rank after all other units.
 */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit <= 0xdfff ? unit + 0x2000 : unit - 0x800
}
