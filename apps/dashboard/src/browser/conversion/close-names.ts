/** Maximum number of wrong letters in a close name, by the length of the shorter name without spaces and signs. */
const allowedEdits = (length: number): number => (length < 4 ? 0 : length < 8 ? 1 : 2)

/**
 * Returns the known name that a column's name probably means; undefined if no name is close, or several are equally
 * close. Case, accents, spaces and signs do not count. Longer names may have one or two wrong letters.
 */
export function closeName(name: string, known: readonly string[]): string | undefined {
  const plain = plainForm(name)
  if (plain === '') return undefined
  const found = known
    .map((candidate) => ({ candidate, edits: editsBetween(plain, plainForm(candidate)) }))
    .filter(({ edits }) => edits !== undefined)
    .sort((one, other) => (one.edits ?? 0) - (other.edits ?? 0))
  const [best, next] = found
  return best === undefined || best.edits === next?.edits ? undefined : best.candidate
}

function plainForm(name: string): string {
  return name
    .normalize('NFKD')
    .toUpperCase() // turns ß into SS, unlike toLowerCase
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/** Returns the number of letters to insert, delete or replace; undefined if there are too many for close names. */
function editsBetween(one: string, other: string): number | undefined {
  const [letters, others] = [[...one], [...other]]
  const limit = allowedEdits(Math.min(letters.length, others.length))
  if (others.length === 0 || Math.abs(letters.length - others.length) > limit) return undefined
  let row = [0, ...others.map((_, index) => index + 1)]
  for (const [index, letter] of letters.entries()) {
    const next = [index + 1]
    for (const [at, otherLetter] of others.entries()) {
      const replaced = (row[at] ?? 0) + (letter === otherLetter ? 0 : 1)
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  const edits = row[others.length] ?? 0
  return edits <= limit ? edits : undefined
}
