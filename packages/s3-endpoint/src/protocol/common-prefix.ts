/**
 * Returns the beginning under which a listing shows a key: up to the first delimiter that follows the prefix.
 *
 * Returns undefined if there is none. The listing then shows the key itself.
 */
export function commonPrefix(key: string, { prefix, delimiter }: CommonPrefixRequest): string | undefined {
  const found = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
  return found < 0 ? undefined : key.slice(0, found + delimiter.length)
}

/** What a listing rolls keys up by. Without a delimiter, which is then empty, it shows each key. */
export type CommonPrefixRequest = { prefix: string; delimiter: string }
