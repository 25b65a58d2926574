/**
 * Returns a name that somebody else chose (of a file, a column, an app) as a mail may hold it: in one line, not longer than
 * `longest` characters, and between quotes that it cannot close. So it stays a name, whatever it says.
 */
export function quoted(name: string, longest = 100): string {
  const characters = [
    ...name
      .toWellFormed()
      .replace(/[\p{C}\p{Z}]+/gu, ' ')
      .replace(/[“”„‟"]/g, '’'),
  ]
  const shown = characters.length > longest ? [...characters.slice(0, longest - 1), '…'] : characters
  return `“${shown.join('')}”`
}
