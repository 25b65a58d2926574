/** Maximum number of wrong letters in a close name, by the length of the shorter name without spaces and signs. */
const allowedEdits = (length: number): number => (length < 4 ? 0 : length < 8 ? 1 : 2)

/**
 * Returns the known name that a name probably means; undefined if no name is close, or several are equally close. Case,
 * accents, spaces and signs do not count. Longer names may have one or two letters that are wrong or swapped.
 */
export function closeName(name: string, known: readonly string[]): string | undefined {
  const letters = [...plainForm(name)]
  const found = known
    .map((candidate) => ({ candidate, edits: editsBetween(letters, lettersOf(candidate)) }))
    .filter(({ edits }) => edits !== undefined)
    .sort((one, other) => (one.edits ?? 0) - (other.edits ?? 0))
  const [best, next] = found
  return best === undefined || best.edits === next?.edits ? undefined : best.candidate
}

/** What files of other systems call the ID of a person, in plain form. */
const personIds =
  /^((ACCOUNT|CLIENT|CONTACT|CUSTOMER|EXTERNAL|MEMBER|PROFILE|SUBSCRIBER)?ID|(CLIENT|CONTACT|CUSTOMER|MEMBER)(NO|NUMBER))$/

/**
 * Returns the name that probably means the ID of a person, such as `Customer ID`; undefined unless it is the only one.
 */
export function personIdName(names: readonly string[]): string | undefined {
  const [found, ...others] = names.filter((name) => personIds.test(plainForm(name)))
  return others.length === 0 ? found : undefined
}

/** The letters of known names. Many names are compared with each of them. */
const knownLetters = new Map<string, string[]>()

function lettersOf(name: string): string[] {
  const known = knownLetters.get(name)
  if (known !== undefined) return known
  const letters = [...plainForm(name)]
  knownLetters.set(name, letters)
  return letters
}

function plainForm(name: string): string {
  return name
    .normalize('NFKD')
    .toUpperCase() // turns ß into SS, unlike toLowerCase
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/**
 * Returns the number of letters to insert, delete or replace, or of neighbours to swap; undefined if there are too many
 * for close names. Looks only at pairs of letters whose places differ by no more than the allowed number, and stops as
 * soon as there are too many.
 */
function editsBetween(letters: readonly string[], others: readonly string[]): number | undefined {
  const limit = allowedEdits(Math.min(letters.length, others.length))
  if (others.length === 0 || Math.abs(letters.length - others.length) > limit) return undefined
  const tooMany = limit + 1
  let before: number[] = []
  let row = others.map((_, index) => Math.min(index + 1, tooMany))
  row.unshift(0)
  for (const [index, letter] of letters.entries()) {
    const next = new Array<number>(others.length + 1).fill(tooMany)
    if (index + 1 <= limit) next[0] = index + 1
    for (let at = Math.max(0, index - limit); at <= Math.min(others.length - 1, index + limit); at++) {
      const replaced = (row[at] ?? tooMany) + (letter === others[at] ? 0 : 1)
      const isSwap = letter === others[at - 1] && letters[index - 1] === others[at]
      const swapped = isSwap ? (before[at - 1] ?? tooMany) + 1 : tooMany
      next[at + 1] = Math.min(replaced, swapped, (row[at + 1] ?? tooMany) + 1, (next[at] ?? tooMany) + 1)
    }
    if (next.every((edits) => edits > limit) && row.every((edits) => edits > limit)) return undefined
    before = row
    row = next
  }
  const edits = row[others.length] ?? tooMany
  return edits <= limit ? edits : undefined
}
