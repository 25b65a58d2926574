/**
 * Returns the common prefix under which a listing shows a key. It ends with the first delimiter that follows the
 * prefix.
 *
 * Returns undefined if there is no such delimiter. The listing then shows the key itself.
 */
export function commonPrefix(key: string, { prefix, delimiter }: CommonPrefixRequest): string | undefined {
  const found = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
  return found < 0 ? undefined : key.slice(0, found + delimiter.length)
}

/** How a listing rolls up keys. If the delimiter is empty, the listing shows each key. */
export type CommonPrefixRequest = { prefix: string; delimiter: string }
